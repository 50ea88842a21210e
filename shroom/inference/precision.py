"""The number format that a model computes in: float32, or a faster one that agrees with it.

Another precision is compared with float32 on a sample of what is to be computed before it is used.
A model that leaves its range later computes in float32 from then on.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from shroom.core.problems import ShroomError
from shroom.inference.batching import Ahead, lacks_memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Forward = Callable[[Any], NDArray[Any]]

#: The values of ``--precision``. ``auto`` is the fastest of those that agree with float32; ``int8``
#: is for models that are stored in integers, as that of the kit.
PRECISIONS = ("auto", "float32", "bfloat16", "float16", "int8")
#: The greatest difference of probabilities at which a precision agrees with float32.
TOLERANCE = 0.02
_EXACT = "float32"


def precision_for(asked: str | None, device: str) -> str:
    """Return the precision to try on a device.

    Parameters
    ----------
    asked : str or None
        One of ``PRECISIONS``; ``None`` is the default, float32.
    device : str
        As torch names it.

    Raises
    ------
    ShroomError
        Where models in torch cannot compute in it.

    Examples
    --------
    >>> precision_for(None, "cpu"), precision_for("bfloat16", "cuda:1")
    ('float32', 'bfloat16')
    """
    if asked not in (None, *PRECISIONS):
        raise ShroomError(f"precision: expected one of {', '.join(PRECISIONS)}, got {asked}")
    if asked == "int8":
        raise ShroomError(
            "precision int8 is for models stored in integers, as shroom fit cross-encoder writes "
            "them; give auto, float32, bfloat16 or float16"
        )
    if asked != "auto":
        return asked or _EXACT
    import torch

    if device.startswith("cuda"):
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float16"
    # Older versions of torch do not report capabilities.
    flags: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    fast = device == "cpu" and (flags.get("avx512_bf16") or flags.get("amx_bf16"))
    return "bfloat16" if fast else _EXACT


class Trusted:
    """A forward pass in a precision that agrees with float32 on a sample, else in float32.

    Parameters
    ----------
    load : callable
        Takes a precision and returns the forward pass in it: from a batch to logits, an array of
        shape [batch, classes]. Raises an error where it cannot be loaded.
    precision : str
        The precision to try; float32 needs no trial.
    clock : callable, optional
        Returns seconds. The precision and float32 are timed by it on the sample, and the faster is
        used; without it, the precision.
    workers : int
        The number of batches that are computed at the same time when they are timed, as later.

    Attributes
    ----------
    precision : str
        The precision in use; until :meth:`settle`, the one to try.

    Examples
    --------
    >>> def load(precision):
    ...     return lambda batch: np.array(batch, precision)
    >>> forward = Trusted(load, "float16")
    >>> forward.settle([[[1.0, 2.0]], [[3.0, 0.5]]], print)
    float16 is at most 0.0000 off float32 on a sample of 2
    >>> forward([[1.0, 2.0]])
    array([[1., 2.]], dtype=float16)
    >>> forward([[99999.0, 0.0]])
    array([[inf,  0.]], dtype=float16)
    >>> forward.fall_back()
    float16 gave a value that is not finite: from there on, float32
    True
    >>> forward([[99999.0, 0.0]])
    array([[99999.,     0.]], dtype=float32)
    """

    def __init__(
        self,
        load: Callable[[str], Forward],
        precision: str = _EXACT,
        *,
        clock: Callable[[], float] | None = None,
        workers: int = 1,
    ) -> None:
        self._load, self.precision = load, precision
        self._clock, self._workers = clock, workers
        self._forward: Forward | None = None
        self._note: Callable[[str], None] = lambda _: None

    def settle(self, sample: Sequence[Any], note: Callable[[str], None]) -> None:
        """Choose the precision by a sample of batches, unless that has been done.

        Both models are never in memory at once.
        """
        self._note = note
        if self._forward is not None:
            return
        if self.precision == _EXACT:
            self._use(_EXACT)
            if self._clock:
                note(f"--precision auto computes in {_EXACT}: nothing else is fast on this device")
            return
        forward = self._loaded(_EXACT)
        exact = [_logits(forward, batch) for batch in sample]
        fitting = [batch for batch, logits in zip(sample, exact) if logits is not None]
        seconds = self._seconds(forward, fitting)
        del forward
        faster = self._compared(exact, sample)
        gain = seconds / max(self._seconds(faster, fitting), 1e-9) if faster else 0.0
        if faster and (gain > 1 or not self._clock):
            self._forward = faster
        else:
            del faster
            self._use(_EXACT)
        if self._clock:
            times = f", {gain:.1f} times as fast as {_EXACT} on the sample" if gain > 1 else ""
            note(f"--precision auto computes in {self.precision}{times}")

    def _seconds(self, forward: Forward, sample: Sequence[Any]) -> float:
        """Return the time that batches take which were computed before: the shorter of two runs."""
        if not self._clock:
            return 0.0
        seconds = []
        for _ in range(2):
            start = self._clock()
            with Ahead[Any](self._workers) as ahead:
                for batch in sample:
                    if ahead.full:
                        ahead.next()[1]()
                    ahead.ask(None, partial(_logits, forward, batch))
                while ahead.waiting:
                    ahead.next()[1]()
            seconds.append(self._clock() - start)
        return min(seconds)

    def _compared(self, exact: list[NDArray[Any] | None], sample: Sequence[Any]) -> Forward | None:
        """Return the forward pass in the precision if it agrees with the exact logits; note it."""
        name = self.precision
        try:
            forward = self._loaded(name)
            logits = [_logits(forward, batch) for batch in sample]
        except Exception as error:  # noqa: BLE001 - an operator may be missing, and much more
            self._note(f"{name} cannot be used: {next(iter(str(error).splitlines()), '')}")
            return None
        both = [(x, y) for x, y in zip(exact, logits) if x is not None and y is not None]
        n = sum(len(x) for x, _ in both)
        if len(both) < len(sample):
            left_out = sum(map(len, sample)) - n
            self._note(f"{left_out} of a sample did not fit into memory, and do not count")
        if not both:
            return None
        off = max(apart(x, y) for x, y in both)
        if off <= TOLERANCE:
            self._note(f"{name} is at most {off:.4f} off {_EXACT} on a sample of {n}")
            return forward
        self._note(f"{name} is {off:.4f} off {_EXACT} on a sample of {n}, so it is not used")
        return None

    def __call__(self, batch: Any) -> NDArray[Any]:
        """Return the logits of a batch, which may not be finite in a short precision."""
        if self._forward is None:
            self._use(self.precision)
        assert self._forward is not None  # noqa: S101 - it is None only while loading
        with np.errstate(over="ignore"):
            return self._forward(batch)

    def fall_back(self) -> bool:
        """Compute in float32 from now on; return whether it was another precision before."""
        if self.precision == _EXACT:
            return False
        self._note(f"{self.precision} gave a value that is not finite: from there on, {_EXACT}")
        self._use(_EXACT)
        return True

    def _use(self, name: str) -> None:
        self._forward = None  # both at once may not fit into memory
        self.precision, self._forward = name, self._loaded(name)

    def _loaded(self, name: str) -> Forward:
        """Return the forward pass in a precision."""
        try:
            return self._load(name)
        except Exception as error:
            if not lacks_memory(error):
                raise
            raise ShroomError(
                "the model does not fit into the device's memory: try --device cpu, or a smaller "
                "model"
            ) from error


def _logits(forward: Forward, batch: Any) -> NDArray[Any] | None:
    """Return the logits of a batch, or ``None`` where it does not fit into memory."""
    try:
        with np.errstate(over="ignore"):
            return forward(batch)
    except Exception as error:
        if lacks_memory(error):
            return None
        raise


def apart(exact: NDArray[Any], logits: NDArray[Any]) -> float:
    """Return the greatest difference between probabilities and those of the exact logits.

    For a single logit, which may be any number, it is the error in the chance that one of two equal
    items is preferred to the other: the logistic function of the difference, less a half.

    Parameters
    ----------
    exact, logits : array, shape [n, k]
        Logits.

    Returns
    -------
    float
        In [0, 1]; 1 where a logit is not finite.

    Examples
    --------
    >>> round(apart(np.array([[0.0, 0.0]]), np.array([[0.0, 0.1]])), 4)
    0.025
    """
    exact, logits = np.asarray(exact, np.float64), np.asarray(logits, np.float64)
    if not (np.isfinite(exact).all() and np.isfinite(logits).all()):
        return 1.0
    if exact.shape[1] == 1:  # beside another item with the exact logit
        exact, logits = np.hstack((exact, exact)), np.hstack((exact, logits))
    return float(np.abs(softmax(logits) - softmax(exact)).max(initial=0))


def softmax(logits: NDArray[Any]) -> NDArray[np.float64]:
    """Return the probabilities of logits: shape [n, k], the rows of which sum to 1."""
    exponents = np.exp(np.asarray(logits, np.float64) - logits.max(axis=1, keepdims=True))
    return np.asarray(exponents / exponents.sum(axis=1, keepdims=True))
