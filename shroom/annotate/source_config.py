"""The configs of the source's program, ``config/config.yml``, as configs of ours."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.core.problems import ShroomError, nearest, printable, show

if TYPE_CHECKING:
    from shroom.annotate.yaml_lines import YamlFile

#: Our key for each key of ``data``.
DATA = {
    "input_data_path": "data",
    "output_data_path": "output",
    "output_rank_data_path": "ranked",
}
#: Our scorer for each of the source's, with settings, and with the setting that each key gives;
#: keys that give none are checked, where they could contradict.
SCORERS: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
    "unigram_scorer": ("unigram", {"language": "zh"}, {"unigram_top_k": "top_k"}),
    "unigram_scorer_en": ("unigram", {"language": "en"}, {"unigram_top_k": "top_k"}),
    "similarity_scorer": (
        "similarity",
        {},
        {"embedding_model_path": "model", "embedding_tokenizer_path": "", "use_answer_only": ""},
    ),
    "rm_scorer": (
        "reward",
        {},
        {"rm_model_path": "model", "rm_tokenizer_path": "", "model_type": ""},
    ),
    "probe_scorer": (
        "probe",
        {},
        {
            "probe_model_path": "probe",
            "model_path": "model",
            "probe_layer": "layer",
            "tokenizer_path": "",
            "model_type": "",
            "hidden_size": "",
            "probe_state_key": "",
            "probe_token": "",
        },
    ),
}
#: The values that the source's program accepts, or the only ones that it acts on.
VALUES = {
    "model_type": ("ziya", "ziya_13b", "qwen", "llama2_13b", "llama2_13b_en"),
    "probe_state_key": ("hidden_states",),
    "probe_token": ("last",),
}
#: The key of the model whose folder must have the tokenizer.
TOKENIZERS = {
    "rm_tokenizer_path": "rm_model_path",
    "embedding_tokenizer_path": "embedding_model_path",
    "tokenizer_path": "model_path",
}
#: Our ranker for each of the source's, with the setting that each key gives.
RANKERS = {
    "SimpleRanker": ("percentile", {"up_percentile": "up", "down_percentile": "down"}),
    "LenRanker": ("length", {"short_diff": "difference"}),
}
#: Paths, where a name of the hub could stand as well.
_IS_PATH = re.compile(r"^[/.~]|\.pth?$")


def is_one(content: dict[str, Any]) -> bool:
    """Return whether a config is of the source's form: ``data`` names an input and an output.

    Examples
    --------
    >>> is_one({"data": {"input_data_path": "in.jsonl"}}), is_one({"data": "in.jsonl"})
    (True, False)
    """
    return isinstance(content.get("data"), dict)


def translated(file: YamlFile) -> dict[str, Any]:
    """Return the config of ours that does what one of the source's does.

    Its lines become known to the file under our keys.

    Raises
    ------
    ShroomError
        With everything that is unknown in it, and every path that is not there.
    """
    return _Translation(file).content


class _Translation:
    """A config of the source's, part by part; what cannot be done is collected."""

    def __init__(self, file: YamlFile) -> None:
        self.file = file
        self.content: dict[str, Any] = {"scorers": []}
        self.problems: list[str] = []
        self._name((), file.content, ("data", "scorer", "ranker"))
        ranker = self._part("ranker")
        self._data(self._part("data"), ranked=bool(ranker))
        for name in self._part("scorer"):
            self._scorer(name, self._part("scorer", name))
        if ranker:
            self._ranker(ranker)
        if self.problems:
            raise ShroomError(f"{file.path}: {'; '.join(self.problems)}")

    def _report(self, place: tuple[Any, ...], sentence: str) -> None:
        self.problems.append(f"{self.file.line_of(place)}{sentence}")

    def _part(self, *place: Any) -> dict[str, Any]:
        """Return the mapping at a place; empty where there is nothing."""
        part = self.file.content
        for key in place:
            part = part.get(key) or {}
        if not isinstance(part, dict):
            message = f"{place[-1]}: expected keys with values, got {show(part)}"
            raise self.file.error(place, message)
        return part

    def _name(self, place: tuple[Any, ...], part: dict[str, Any], keys: tuple[str, ...]) -> None:
        """Report the keys that are not known."""
        for key in part:
            if key not in keys:
                there = f"{nearest(str(key), keys)} there are: {', '.join(keys)}"
                self._report((*place, key), f"no key '{printable(str(key))}' is known;{there}")

    def _data(self, part: dict[str, Any], *, ranked: bool) -> None:
        self._name(("data",), part, tuple(DATA))
        for key, ours in DATA.items():
            path = part.get(key)
            if path is None or (ours == "ranked" and not ranked):
                continue
            self.content[ours] = path
            self.file.lines[(ours,)] = self.file.lines["data", key]
            self._look(("data", key), str(path), writes=ours != "data")

    def _scorer(self, name: str, part: dict[str, Any]) -> None:
        if name not in SCORERS:
            self._name(("scorer",), {name: part}, tuple(SCORERS))
            return
        ours, fixed, settings = SCORERS[name]
        self._name(("scorer", name), part, tuple(settings))
        values = {**fixed, **{settings[k]: v for k, v in part.items() if settings.get(k)}}
        if "use_answer_only" in part:  # whatever its value is, as in the source's program
            values["question"] = False
        if name == "rm_scorer":
            english = part.get("model_type") == "llama2_13b_en"
            values["template"] = "dreamcatcher-en" if english else "dreamcatcher"
        for key, value in part.items():
            self._check(("scorer", name, key), value, part)
        row = len(self.content["scorers"])
        self.file.lines["scorers", row] = self.file.lines["scorer", name]
        for key in part.keys() & settings.keys():
            line = self.file.lines["scorer", name, key]
            self.file.lines["scorers", row, ours, settings[key]] = line
        self.content["scorers"].append({ours: values})

    def _check(self, place: tuple[Any, ...], value: Any, part: dict[str, Any]) -> None:
        """Report a value of a scorer's key that is not there, or cannot be done."""
        key = place[-1]
        if key in VALUES and value not in VALUES[key]:
            expected = ", ".join(VALUES[key])
            self._report(place, f"{key}: expected one of {expected}, got {show(value)}")
        elif key in TOKENIZERS and value != part.get(TOKENIZERS[key]):
            folder = TOKENIZERS[key]
            self._report(place, f"{key}: a tokenizer is read from the model's folder, {folder}")
        elif key == "probe_layer" and type(value) is not int:
            self._report(place, f"{key}: expected the number of a layer, got {show(value)}")
        elif key.endswith("_path") and key not in TOKENIZERS and _IS_PATH.search(str(value)):
            self._look(place, str(value))

    def _ranker(self, part: dict[str, Any]) -> None:
        name = part.get("ranker_name")
        if name not in RANKERS:
            names = ", ".join(RANKERS)
            self._report(("ranker",), f"ranker_name: expected one of {names}, got {show(name)}")
            return
        ours, settings = RANKERS[name]
        self._name(("ranker",), part, ("ranker_name", *settings))
        self.content["ranker"] = {ours: {settings[k]: v for k, v in part.items() if k in settings}}
        for key in settings.keys() & part.keys():
            line = self.file.lines["ranker", key]
            self.file.lines["ranker", ours, settings[key]] = line

    def _look(self, place: tuple[Any, ...], text: str, *, writes: bool = False) -> None:
        """Report a path that is not there, or whose folder is not there if it is written to."""
        needed, relative = Path(text).expanduser(), Path(text.lstrip("/"))
        here = relative
        if writes:
            needed, here = needed.absolute().parent, relative.parent
        if needed.exists():
            return
        hint = ""
        if text.startswith("/") and here.exists():
            hint = f" (relative to the current folder it is {relative})"
        self._report(place, f"{place[-1]}: {needed} is not there{hint}")
