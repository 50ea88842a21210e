"""Models of transformers from the hub or a folder, and errors that show what to do."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from shroom.core.extras import require
from shroom.core.problems import ShroomError
from shroom.inference.store import PARTIAL

#: The kinds of models: the class of transformers that loads one, and what it was trained as.
KINDS = {
    "encoder": ("AutoModel", "an encoder"),
    "nli": ("AutoModelForSequenceClassification", "a classifier of pairs"),
    "reward": ("AutoModelForSequenceClassification", "a reward model"),
    "causal": ("AutoModelForCausalLM", "a language model"),
}
#: A tokenizer with fewer words has no vocabulary.
_FEWEST_WORDS = 8
#: The names of files of weights of transformers.
_WEIGHTS = re.compile(r"(pytorch_)?model.*\.(safetensors|bin)(\.index\.json)?")
#: The endings of files that are never read of a model's folder.
_UNREAD = frozenset((".h5", ".msgpack", ".onnx", ".ot", ".md", ".gguf", ".png"))


def tokenizer(name: str, revision: str | None = None) -> Any:
    """Return the tokenizer of a model."""
    with _loader(name, revision, "tokenizer", torch=False) as load:
        tokenizer = load("AutoTokenizer")
        # If its files are missing, some versions make a tokenizer of added words only.
        if len(tokenizer.get_vocab().keys() - tokenizer.get_added_vocab().keys()) < _FEWEST_WORDS:
            raise OSError("no vocabulary; tokenizer.json is missing")
        return tokenizer


def config(name: str, revision: str | None = None) -> Any:
    """Return the configuration of a model, without its weights; see :func:`model`."""
    with _loader(name, revision, "config.json", torch=False) as load:
        return load("AutoConfig")


def model(
    kind: str, name: str, revision: str | None = None, device: str | None = None, dtype: str = ""
) -> Any:
    """Return a model in evaluation mode, on a device; its own code is never run."""
    automatic, trained_as = KINDS[kind]
    with _loader(name, revision, "model") as load:
        about = load("AutoConfig")
        if kind == "encoder" and about.model_type in ("t5", "mt5", "umt5"):
            automatic = "AutoModelForTextEncoding"  # without the decoder
        loaded, loading = load(automatic, config=about, dtype="float32", output_loading_info=True)
    # An encoder's pooler is not used; all else that is missing would be random numbers.
    missing = sorted(
        it for it in loading["missing_keys"] if kind != "encoder" or "pooler" not in it
    )
    if missing:
        raise ShroomError(
            f"{name} was not trained as {trained_as}: its weights lack {missing[0]}; specify "
            "another --model"
        )
    device = device or best_device()
    try:
        return loaded.to(device, getattr(import_module("torch"), dtype or "float32")).eval()
    except (RuntimeError, AssertionError) as error:
        raise ShroomError(
            f"the model cannot run on --device {device} ({_first(error)}); use --device cpu or a "
            "smaller model"
        ) from error


def best_device() -> str:
    """Return the name of the fastest device available."""
    _transformers()
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def identity(name: str, revision: str | None = None) -> str:
    """Return a digest of a folder's file names, sizes and times, or else the revision."""
    folder = Path(_place(name))
    if not folder.is_dir():
        return f"{name}@{revision or 'main'}"
    files = (
        f"{path.relative_to(folder).as_posix()} {size} {modified}\n"
        for path, size, modified in _files(folder.rglob("*"))
    )
    return f"{folder.name}@{_sha256(files)[:12]}"


def content(name: str, revision: str | None = None) -> str | None:
    """Return a digest of a folder's files, or the hub's commit, for keys that outlast a run."""
    # ``None`` if the weights are elsewhere, or the commit is not known.
    folder = Path(_place(name))
    if not folder.is_dir():
        commit = getattr(config(name, revision), "_commit_hash", None)
        return f"{name}@{commit}" if commit else None
    if (folder / "adapter_config.json").exists():  # it names the weights that it is added to
        return None
    return files_digest(path for path in folder.rglob("*") if path.suffix not in _UNREAD)


def files_digest(paths: Iterable[Path]) -> str:
    """Return a digest of files' names and contents; stores of unfinished runs do not count."""
    return _files_digest(tuple(_files(paths)))


@lru_cache(maxsize=16)
def _files_digest(files: tuple[tuple[Path, int, int], ...]) -> str:
    """Return the digest of files of these sizes and times; large ones are read once."""
    lines = []
    for path, _, _ in files:
        with path.open("rb") as stream:
            lines.append(f"{path.name} {hashlib.file_digest(stream, 'sha256').hexdigest()}\n")
    return _sha256(lines)


def _files(paths: Iterable[Path]) -> Iterator[tuple[Path, int, int]]:
    """Yield each file, without the stores of unfinished runs, with its size and its time."""
    for path in sorted(paths):
        if path.is_file() and not path.suffix.startswith(PARTIAL):
            about = path.stat()
            yield path, about.st_size, about.st_mtime_ns


def _sha256(lines: Iterable[str]) -> str:
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def library_versions(*modules: str) -> str:
    """Return the names and versions of the libraries that compute a value."""
    return " ".join(f"{name} {import_module(name).__version__}" for name in modules)


def scope(about: str, name: str, revision: str | None, *more: str) -> str | None:
    """Return the scope of values in a store, for ``about``, model and libraries, or ``None``."""
    known = content(name, revision)
    versions = library_versions(*more, "tokenizers", "transformers", "torch")
    return known and f"{about} {known} {versions}"


def languages(names: Sequence[str], revisions: Sequence[str | None]) -> tuple[str, ...]:
    """Return the codes of the languages that all cards with languages have in common."""
    declared = [_languages(*model) for model in zip(names, revisions)]
    known = [codes for codes in declared if codes is not None]
    return tuple(sorted(set.intersection(*known))) if known else ()


def _languages(name: str, revision: str | None) -> set[str] | None:
    """Return the codes of languages in a model's card; ``None`` if it has none."""
    library, folder = import_module("huggingface_hub"), Path(_place(name))
    try:
        if folder.is_dir():
            card = folder / "README.md"
        else:
            card = library.hf_hub_download(name, "README.md", revision=revision)
        declared = library.metadata_load(card)["language"]
    except Exception:  # noqa: BLE001 - without a card or a network there is no note
        return None
    return set(re.findall(r"\b[a-z]{2,3}\b", str(declared)))


def onnx_file(name: str) -> Path | None:
    """Return the path of an ONNX graph: a file, or ``model.onnx`` in a folder without weights."""
    path = Path(_place(name))
    if path.suffix == ".onnx":
        return path
    if not path.is_dir() or any(_WEIGHTS.fullmatch(file.name) for file in path.iterdir()):
        return None
    graphs = (path / "model.onnx", path / "onnx" / "model.onnx")
    return next((graph for graph in graphs if graph.is_file()), None)


def _place(name: str) -> str:
    """Return a name as transformers expects it, with the home folder expanded."""
    return os.path.expanduser(name)  # noqa: PTH111 - a name on the hub is not a path


def _transformers(*, torch: bool = True) -> Any:
    require("models", *(["torch"] if torch else []), "transformers")
    if torch:
        import_module("torch")  # without it, transformers logs a long warning
    import transformers

    transformers.logging.set_verbosity_error()
    # It logs each of its tries; that none succeeded is reported once, by an exception.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    transformers.utils.logging.disable_progress_bar()
    if sys.stderr and sys.stderr.isatty() and "HF_HUB_DISABLE_PROGRESS_BARS" not in os.environ:
        import_module("huggingface_hub.utils").enable_progress_bars()  # downloads may take long
    return transformers


@contextmanager
def _loader(
    name: str, revision: str | None, what: str, *, torch: bool = True
) -> Iterator[Callable[..., Any]]:
    """Yield what loads by the name of a class; report errors of the libraries as one sentence."""
    place = _place(name)
    is_folder = bool(name) and Path(place).is_dir()

    def load(automatic: str, **more: Any) -> Any:
        about = {"revision": revision, "trust_remote_code": False, **more}
        return getattr(library, automatic).from_pretrained(place, **about)

    try:
        library = _transformers(torch=torch)
        yield load
    except ShroomError:
        raise
    except Exception as error:  # a broken file can make the libraries raise anything
        raise ShroomError(
            f"{name}: transformers cannot load the {what} in this folder ({_first(error)}); the "
            "folder needs the files that save_pretrained writes for a model and its tokenizer"
            if is_folder
            else f"{name}: no such folder, and the hub does not provide it ({_first(error)}); "
            "check the name, or download the model on a machine with internet access (hf download "
            f"{name} --local-dir FOLDER) and use --model FOLDER; the default detector needs no "
            "download"
        ) from error


def _first(error: BaseException) -> str:
    """Return the first sentence of a library's message."""
    text = str(error).strip().split("\n")[0] or type(error).__name__
    return text[:200].rstrip(".: ")
