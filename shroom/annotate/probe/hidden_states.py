"""Reading the hidden states of a causal model, for many questions in few passes; their prompt."""

from __future__ import annotations

import inspect
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.annotate.probe.sites import FINAL, Blocks, Site
from shroom.core.problems import ShroomError, show
from shroom.inference import hub
from shroom.inference.cache_key import CacheKey
from shroom.inference.computation import compute
from shroom.inference.tokenization import in_chat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from shroom.inference.run_settings import Run

    Ids = tuple[int, ...]
    Floats = NDArray[np.float64]

#: Where states can be read: at the question's last token, or at the last one before the answer.
POSITIONS = ("last", "before-answer")
MODES = ("chat", "completion")
QUESTION = "{question}"
#: The default prompts: in completion mode a line end follows the question, so that there is a
#: token between question and answer.
PROMPTS = {"chat": QUESTION, "completion": f"{QUESTION}\n"}
#: A character of no script, which no template changes.
_MARK = "\ue137"
#: The most tokens of a text, whatever the model reads.
_LONGEST = 8192
#: The largest change of a causal model's state, relative to its size, that rounding explains.
_ROUNDING = 1e-3


@dataclass(frozen=True)
class Frame:
    """The prompt around each question, and where states are read.

    Attributes
    ----------
    mode : str
        ``chat`` or ``completion``.
    prompt : str
        What the user gives, with ``{question}`` in it.
    position : str
        One of ``POSITIONS``.
    before, after : str
        What the model is given before and after a question: the prompt and, in chat mode, what the
        chat template makes of it. Templates may contain the date, so this is made once and kept.
    """

    mode: str
    prompt: str
    position: str
    before: str
    after: str

    def text(self, question: str) -> str:
        """Return the model's input; states are read at its last token.

        A causal model's states do not depend on what follows, so nothing does.

        Examples
        --------
        >>> Frame("completion", "Q: {question} A:", "last", "Q: ", " A:").text(" Why? ")
        'Q: Why?'
        """
        return self.before + question.strip() + (self.after if self.position != "last" else "")

    def to_dict(self) -> dict[str, str]:
        """Return plain values for json."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Frame:
        """Return the frame of :meth:`to_dict`; raises KeyError and ValueError for other values."""
        fields = {name: content[name] for name in cls.__dataclass_fields__}
        if not all(isinstance(value, str) for value in fields.values()):
            raise ValueError("a text is none")
        if fields["position"] not in POSITIONS or fields["mode"] not in MODES:
            raise ValueError("there is no such position or mode")
        return cls(**fields)


def frame(
    tokenizer: Any, name: str, position: str, mode: str | None = None, prompt: str | None = None
) -> Frame:
    r"""Return the prompt around each question.

    Parameters
    ----------
    tokenizer : tokenizer of transformers
        Its chat template is used in chat mode.
    name : str
        Name of the model in messages.
    position : str
        One of ``POSITIONS``.
    mode : str, optional
        By default ``chat`` where there is a chat template, else ``completion``.
    prompt : str, optional
        With ``{question}`` once; by default the question, in completion mode with a line end.

    Raises
    ------
    ShroomError
        Where the prompt or the template has no place for the question.
    """
    template = getattr(tokenizer, "chat_template", None)
    if mode == "chat" and not template:
        raise ShroomError(f"{name}: its tokenizer has no chat template; give --mode completion")
    mode = mode or ("chat" if template else "completion")
    prompt = PROMPTS[mode] if prompt is None else prompt
    if prompt.count(QUESTION) != 1:
        raise ShroomError(f"--prompt: expected {QUESTION} in it, once, got {show(prompt)}")
    text = prompt.replace(QUESTION, _MARK)
    if mode == "chat":
        way_out = "give --mode completion"
        text = in_chat(tokenizer, name, [("user", text)], asks=True, way_out=way_out)
        if text.count(_MARK) != 1:
            raise ShroomError(
                f"{name}: its chat template shows the question {text.count(_MARK)} times rather "
                "than once; give --mode completion"
            )
    before, _, after = text.partition(_MARK)
    return Frame(mode, prompt, position, before, after)


class Reader:
    """A causal model whose states are read.

    Parameters
    ----------
    name, revision, device
        As for :func:`shroom.inference.hub.model`.

    Raises
    ------
    ShroomError
        Where it cannot be had, has no known blocks, or is not causal.
    """

    def __init__(self, name: str, revision: str | None = None, device: str | None = None) -> None:
        self.name, self.revision = name, revision
        self.tokenizer = hub.tokenizer(name, revision)
        model = hub.model("causal", name, revision, device)
        self.blocks = Blocks(model, name)
        # Without its head, a model does not compute the logits of the whole vocabulary.
        self._model = model.base_model
        self._device = model.device
        parameters = inspect.signature(self._model.forward).parameters
        self._more = {"use_cache": False} if "use_cache" in parameters else {}
        reads = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self.most = min(int(self.tokenizer.model_max_length), int(reads or _LONGEST), _LONGEST)
        padding = self.tokenizer.pad_token_id
        self._padding = 0 if padding is None else int(padding)
        self._refuse_others()

    @property
    def identity(self) -> str:
        """Identifies the model; see :func:`shroom.inference.hub.identity`."""
        return hub.identity(self.name, self.revision)

    def ids(self, frame: Frame, question: str) -> Ids:
        """Return the tokens of a question in its frame, the last of which is to be read.

        What is too long keeps its end.

        Raises
        ------
        ShroomError
            Where there are none.
        """
        text = frame.text(question)
        ids = list(self.tokenizer(text, add_special_tokens=False)["input_ids"])
        if frame.mode == "completion":  # a chat template writes the mark of the start itself
            ids = self._marked(text, ids)
        if not ids:
            raise ShroomError(
                f"{self.name}: its tokenizer makes no token of the question {show(question)}; "
                "leave the question out"
            )
        return tuple(ids[-self.most :])

    def check(self, ids: Ids, run: Run) -> Floats:
        """Return the last block's output at the last token: shape [width]."""
        last = Site("layers", len(self.blocks.modules))
        return np.asarray(self.states([ids], [last], run)[last][0])

    def widths(self, sites: Sequence[Site]) -> list[int]:
        """Return the number of values in a state of each place."""
        states = self._read([self._sample], sites)
        return [states[site].shape[1] for site in sites]

    def states(self, items: Sequence[Ids], sites: Sequence[Site], run: Run) -> dict[Site, Floats]:
        """Return the states of each place at the last token of each item: shape [n, width].

        Parameters
        ----------
        items : sequence of tuple of int, length n
            The tokens of :meth:`ids`.
        sites : sequence of Site
            Where to read; of heads, all of a layer together.
        run : Run
            How it is run; its journal is not used.
        """

        def work(batch: list[Ids]) -> NDArray[np.float32]:
            states = self._read(batch, sites)
            return np.concatenate([states[site] for site in sites], axis=1)

        lengths = [len(item) for item in items]
        run = replace(run, journal=None)
        rows = compute(items, work, lengths=lengths, key=CacheKey(self.name), run=run)
        ends = np.cumsum(self.widths(sites))[:-1]
        return dict(zip(sites, np.split(rows, ends, axis=1)))

    def _marked(self, text: str, plain: list[int]) -> list[int]:
        """Return tokens with the mark of the start, where the model has one, and none of the end.

        The last token is to be that of the text.
        """
        marked = list(self.tokenizer(text)["input_ids"])
        for start in range(len(marked) - len(plain) + 1):
            if marked[start : start + len(plain)] == plain:
                return marked[: start + len(plain)]
        return plain

    def _read(
        self, batch: Sequence[Ids], sites: Sequence[Site], token: int = -1
    ) -> dict[Site, NDArray[np.float32]]:
        """Return the states at a token of each item, the last one: for each place, [batch, width].

        Padding is on the right, where no token of a causal model depends on it, and positions count
        from the first token in all architectures.
        """
        import torch

        size = max(map(len, batch))
        ids = torch.full((len(batch), size), self._padding)
        mask = torch.zeros((len(batch), size), dtype=torch.long)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = torch.tensor(tokens)
            mask[row, : len(tokens)] = 1
        rows = torch.arange(len(batch), device=self._device)
        places = (mask.sum(1) - 1 if token < 0 else torch.full((len(batch),), token)).to(
            self._device
        )
        states: dict[Site, NDArray[np.float32]] = {}

        def take(site: Site, output: Any) -> None:
            # Some MLPs see all tokens of a batch in one row.
            here = output.reshape(len(batch), size, -1)[rows, places]
            states[site] = here.float().cpu().numpy()

        inside = [site for site in sites if site.kind != FINAL]
        with torch.inference_mode(), self.blocks.watched(inside, take):
            output = self._model(
                input_ids=ids.to(self._device), attention_mask=mask.to(self._device), **self._more
            )
            for site in sites:
                if site.kind == FINAL:
                    take(site, output.last_hidden_state)
        return states

    @property
    def _sample(self) -> Ids:
        """Any six tokens."""
        vocabulary = len(self.tokenizer.get_vocab())
        return tuple(token % vocabulary for token in range(5, 11))

    def _refuse_others(self) -> None:
        """Refuse a model whose states depend on what follows."""
        sites = self.blocks.sites(["layers"])
        alone, followed = (
            self._read([self._sample[:3]], sites),
            self._read([self._sample], sites, 2),
        )
        for site in sites:
            apart = float(np.abs(alone[site] - followed[site]).max())
            if not apart <= _ROUNDING * float(np.abs(alone[site]).max()):
                raise ShroomError(
                    f"{self.name}: is not a causal model: its state at a token depends on those "
                    "that follow; give a model that generates text"
                )
