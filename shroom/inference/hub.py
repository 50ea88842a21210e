"""Models of transformers from the hub or a folder, and errors that say what to do."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.core.append_only import LOCK
from shroom.core.extras import install_hint
from shroom.core.problems import ShroomError
from shroom.inference.cache_key import files_digest
from shroom.inference.model_limits import check_sizes
from shroom.inference.resume_log import PARTIAL

if TYPE_CHECKING:
    from collections.abc import Callable

#: What a model is loaded as: the class of transformers that does it.
KINDS = {
    "encoder": "AutoModel",
    "nli": "AutoModelForSequenceClassification",
    "reward": "AutoModelForSequenceClassification",
    "causal": "AutoModelForCausalLM",
}
#: A name on the hub: one part or two.
_ON_THE_HUB = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)
_FEW = 8  #: a real vocabulary is larger


def tokenizer(name: str, revision: str | None = None) -> Any:
    """Return the tokenizer of a model.

    Parameters
    ----------
    name : str
        A folder, or a name on the hub.
    revision : str, optional
        A commit, tag or branch on the hub.

    Raises
    ------
    ShroomError
        Where it cannot be loaded; the message says what to do.
    """

    def load() -> Any:
        library, place = _transformers(torch=False), _place(name)
        with suppress(OSError):  # it may have no config.json, and is read with it otherwise
            _check_config(library, name, revision)
        found = library.AutoTokenizer.from_pretrained(
            place, revision=revision, trust_remote_code=False
        )
        # Where its files are not there, some versions make a tokenizer that knows next to nothing.
        if len(found.get_vocab().keys() - found.get_added_vocab().keys()) < _FEW:
            raise OSError("there is no vocabulary, as in tokenizer.json")
        return found

    return _loaded(load, name, "tokenizer")


def config(name: str, revision: str | None = None) -> Any:
    """Return the configuration of a model, without its weights; see :func:`model`."""

    def load() -> Any:
        return _config(_transformers(torch=False), name, revision)

    return _loaded(load, name, "config.json")


def model(kind: str, name: str, revision: str | None = None, device: str | None = None) -> Any:
    """Return a model in evaluation mode, in float32, on a device.

    Code that comes with a model is never run.

    Parameters
    ----------
    kind : str
        One of ``KINDS``.
    name, revision : str
        As for :func:`tokenizer`.
    device : str, optional
        By default the fastest available.

    Raises
    ------
    ShroomError
        Where it cannot be loaded, its weights lack a part, or the device is not available.
    """

    def load() -> Any:
        library = _transformers()
        import torch

        place = _place(name)
        options = {"revision": revision, "trust_remote_code": False}
        about = _config(library, name, revision)
        automatic = KINDS[kind]
        if kind == "encoder" and about.model_type in ("t5", "mt5", "umt5"):
            automatic = "AutoModelForTextEncoding"  # without the decoder
        return getattr(library, automatic).from_pretrained(
            place, config=about, dtype=torch.float32, output_loading_info=True, **options
        )

    found, loading = _loaded(load, name, "model")
    # An encoder's pooler is not used; all else that is missing would be random numbers.
    missing = sorted(
        key for key in loading["missing_keys"] if kind != "encoder" or "pooler" not in key
    )
    if missing:
        raise ShroomError(
            f"{name}: its weights lack {missing[0]}"
            f"{f' and {len(missing) - 1} more' if len(missing) > 1 else ''}, so it was not "
            f"trained as {_AS[kind]}; give --model one that was"
        )
    wanted = device or best_device()
    try:
        return found.to(wanted).eval()
    except (RuntimeError, AssertionError) as error:
        raise ShroomError(f"--device {wanted}: cannot be used here: {_first(error)}") from error


def file(name: str, path: str, revision: str | None = None) -> Path | None:
    """Return where a file of a model lies, or ``None`` where it is not found.

    That is where the model has no such file, or where it is not in the cache and the hub is out of
    reach: what follows from ``None`` is a guess then, and should be reported.

    Parameters
    ----------
    name, revision : str
        As for :func:`tokenizer`.
    path : str
        The file's path in the model's folder.
    """
    folder = Path(_place(name))
    if folder.is_dir():
        return folder / path if (folder / path).is_file() else None

    def load() -> Any:
        _transformers()
        from transformers.utils import cached_file

        return cached_file(
            name,
            path,
            revision=revision,
            # What the hub does not have, or what is not in its cache where there is no network.
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
        )

    found = _loaded(load, name, path)
    return None if found is None else Path(found)


def best_device() -> str:
    """Return the name of the fastest device available."""
    _transformers()
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def identity(name: str, revision: str | None = None, config: Any = None) -> str:
    """Return what identifies a model: for a folder, a digest of its files' names, sizes and times.

    For a name on the hub, it is the revision, or the commit where the configuration names it.

    Examples
    --------
    >>> identity("an/encoder", "v1")
    'an/encoder@v1'
    """
    folder = Path(_place(name))
    if not folder.is_dir():
        commit = getattr(config, "_commit_hash", None)
        return f"{name}@{commit or revision or 'main'}"
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix not in (PARTIAL, LOCK):
            about = path.stat()
            inside = path.relative_to(folder).as_posix()
            digest.update(f"{inside} {about.st_size} {about.st_mtime_ns}\n".encode())
    return f"{folder.name}@{digest.hexdigest()[:12]}"


#: What files of weights of transformers are called.
_WEIGHTS = re.compile(r"(pytorch_)?model.*\.(safetensors|bin)(\.index\.json)?")
#: What else may lie in a model's folder, and is never read of it.
_UNREAD = frozenset((".h5", ".msgpack", ".onnx", ".ot", ".md", ".gguf", ".png"))


def content(name: str, revision: str | None = None) -> str | None:
    """Return what identifies a model by its content alone, for keys that outlast a run.

    Parameters
    ----------
    name, revision : str
        As for :func:`tokenizer`.

    Returns
    -------
    str or None
        For a folder, a digest of its files; for a name on the hub, its commit. ``None`` where the
        weights are elsewhere, or the commit is not known.
    """
    folder = Path(_place(name))
    if not folder.is_dir():
        commit = getattr(config(name, revision), "_commit_hash", None)
        return f"{name}@{commit}" if commit else None
    if (folder / "adapter_config.json").exists():  # it names the weights that it is added to
        return None
    read = [path for path in folder.iterdir() if path.is_file() and path.suffix not in _UNREAD]
    return files_digest(read)


_AS = {
    "encoder": "an encoder",
    "nli": "a classifier of pairs",
    "reward": "a reward model",
    "causal": "a language model",
}


def _place(name: str) -> str:
    """Return a name as transformers takes it: with the home folder written out."""
    return os.path.expanduser(name)  # noqa: PTH111 - a name on the hub is not a path


def onnx_file(name: str) -> Path | None:
    """Return the ONNX graph that a name means, or ``None`` where it means weights.

    Parameters
    ----------
    name : str
        The graph's file; or a folder without weights of transformers, with ``model.onnx`` in it or
        in its folder ``onnx``, as exporters write it.
    """
    path = Path(_place(name))
    if path.suffix == ".onnx":
        return path
    if not path.is_dir() or any(_WEIGHTS.fullmatch(found.name) for found in path.iterdir()):
        return None
    graphs = (path / "model.onnx", path / "onnx" / "model.onnx")
    return next((graph for graph in graphs if graph.is_file()), None)


def _transformers(*, torch: bool = True) -> Any:
    try:
        if torch:
            import_module("torch")  # transformers needs it, and says so at length
        import transformers
    except ImportError as error:
        raise ShroomError(
            f"this detector needs torch and transformers: {install_hint('models')}; "
            "the cross-encoder that ships with the kit does not"
        ) from error
    transformers.logging.set_verbosity_error()
    # It logs each of its tries; that none succeeded is reported once, by an exception.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    transformers.utils.logging.disable_progress_bar()
    if _is_watched():
        import_module("huggingface_hub.utils").enable_progress_bars()  # downloads may take long
    return transformers


def _config(library: Any, name: str, revision: str | None) -> Any:
    _check_config(library, name, revision)
    return library.AutoConfig.from_pretrained(
        _place(name), revision=revision, trust_remote_code=False
    )


def _check_config(library: Any, name: str, revision: str | None) -> None:
    found, _ = library.PretrainedConfig.get_config_dict(_place(name), revision=revision)
    check_sizes(found, name)


def _is_watched() -> bool:
    """Return whether the progress of a download can be seen, and is not disabled."""
    terminal = sys.stderr is not None and sys.stderr.isatty()
    return terminal and "HF_HUB_DISABLE_PROGRESS_BARS" not in os.environ


def _loaded(load: Callable[[], Any], name: str, what: str) -> Any:
    folder = Path(_place(name))
    if not name or not (folder.is_dir() or _ON_THE_HUB.fullmatch(name)):
        raise ShroomError(f"{name or repr(name)}: there is no such folder, nor such a hub name")
    try:
        return load()
    except ShroomError:
        raise
    except Exception as error:
        # A broken file can make the libraries raise anything.
        if folder.is_dir():
            raise ShroomError(
                f"{name}: has no {what} that transformers can load ({_first(error)}); the folder "
                "needs what save_pretrained writes of the model and of its tokenizer"
            ) from error
        raise ShroomError(
            f"{name}: is no folder here, and cannot be had from the hub ({_first(error)}); where "
            f"there is no network, fetch it elsewhere with: hf download {name} --local-dir FOLDER, "
            "and give --model FOLDER; or use the model that ships with the kit: shroom predict "
            "cross-encoder"
        ) from error


def _first(error: BaseException) -> str:
    """Return the first sentence of a library's message."""
    text = str(error).strip().split("\n")[0] or type(error).__name__
    return text[:200].rstrip(".: ")
