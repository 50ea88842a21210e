"""What a model computes in: the fastest that agrees with float32.

A precision that a device is fast in is held against float32 on a sample of what is to be computed
before it is trusted. A model that leaves its range later goes over to float32 for good.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from shroom.batching import Again
from shroom.problems import ShroomError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Forward = Callable[[Any], NDArray[Any]]

#: What can be asked for; ``auto`` is the fastest that the device does well.
PRECISIONS = ("auto", "float32", "bfloat16", "float16", "int8")
#: The most that a probability may be off.
TOLERANCE = 0.02


def precisions(asked: str, device: str) -> tuple[str, ...]:
    """Return the precisions to be tried on a device, the best first; the last is float32.

    Parameters
    ----------
    asked : str
        One of ``PRECISIONS``.
    device : str
        As torch names it.

    Raises
    ------
    ShroomError
        Where the device cannot have it.

    Examples
    --------
    >>> precisions("float32", "cpu"), precisions("bfloat16", "cuda:1")
    (('float32',), ('bfloat16', 'float32'))
    """
    kind = device.partition(":")[0]
    if asked not in PRECISIONS:
        raise ShroomError(f"precision: {asked} is none of {', '.join(PRECISIONS)}")
    if asked == "int8" and kind != "cpu":
        raise ShroomError(f"precision int8 is for the CPU, and the device is {device}")
    first = _fast(kind) if asked == "auto" else (asked,)
    return (*(name for name in first if name != "float32"), "float32")


def _fast(kind: str) -> tuple[str, ...]:
    """Return what a kind of device computes faster than float32, the fastest first."""
    import torch

    if kind == "cuda":
        return ("bfloat16",) if torch.cuda.is_bf16_supported() else ("float16",)
    if kind != "cpu":
        return ()
    # Older versions of torch do not tell.
    told: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    eight = ("avx512_vnni", "avx_vnni", "amx_int8")
    sixteen = ("avx512_bf16", "amx_bf16")
    return tuple(
        name
        for name, flags in (("int8", eight), ("bfloat16", sixteen))
        if any(told.get(flag) for flag in flags)
    )


class Trusted:
    """A forward pass in the first of some precisions that agrees with float32 on a sample.

    Parameters
    ----------
    load : callable
        Takes a precision and returns the forward pass in it: from a batch to logits, an array of
        shape [batch, classes]. Raises ShroomError where it cannot be had.
    precisions : sequence of str
        What is tried, in this order; the last is trusted without a trial.

    Attributes
    ----------
    precision : str
        What is computed in; until :meth:`settle`, what would be tried first.

    Examples
    --------
    >>> def load(precision):
    ...     return lambda batch: np.array(batch, precision)
    >>> forward = Trusted(load, ["float16", "float32"])
    >>> forward.settle([[[1.0, 2.0]], [[3.0, 0.5]]], print)
    float16 is at most 0.0000 off float32 on a sample of 2
    >>> forward([[1.0, 2.0]])
    array([[1., 2.]], dtype=float16)
    >>> try:
    ...     forward([[99999.0, 0.0]])
    ... except Again as again:
    ...     again.change()
    float16 gave a value that is not finite: from there on, float32
    >>> forward([[99999.0, 0.0]])
    array([[99999.,     0.]], dtype=float32)
    """

    def __init__(self, load: Callable[[str], Forward], precisions: Sequence[str]) -> None:
        self._load, self._precisions = load, tuple(precisions)
        self.precision = self._precisions[0]
        self._forward: Forward | None = None
        self._note: Callable[[str], None] = lambda _: None

    def settle(self, sample: Sequence[Any], note: Callable[[str], None]) -> None:
        """Choose the precision by a sample of batches, unless that has been done.

        Both models are never in memory at once.
        """
        self._note = note
        if self._forward is not None:
            return
        *tried, last = self._precisions
        exact = self._logits(self._load(last), sample) if tried else []
        n = sum(map(len, exact))
        for name in tried:
            try:
                forward = self._load(name)
                found = self._logits(forward, sample)
            except Exception as error:  # noqa: BLE001 - an operator may be missing, and much more
                note(f"{name} cannot be had: {next(iter(str(error).splitlines()), '')}")
                continue
            off = max(map(apart, exact, found), default=0.0)
            if off <= TOLERANCE:
                note(f"{name} is at most {off:.4f} off {last} on a sample of {n}")
                self.precision, self._forward = name, forward
                return
            note(f"{name} is {off:.4f} off {last} on a sample of {n}, so it is not used")
            del forward
        self._use(last)

    def __call__(self, batch: Any) -> NDArray[Any]:
        """Return what the forward pass gives.

        Raises
        ------
        Again
            Where that is not finite, and the precision has to become the last.
        """
        if self._forward is None:
            self._use(self.precision)
        assert self._forward is not None  # noqa: S101 - it is None only while loading
        with np.errstate(over="ignore"):
            found = self._forward(batch)
        if not np.isfinite(found).all() and self.precision != self._precisions[-1]:
            raise Again(self._fall_back)
        return found

    def _fall_back(self) -> None:
        last = self._precisions[-1]
        self._note(f"{self.precision} gave a value that is not finite: from there on, {last}")
        self._use(last)

    def _use(self, name: str) -> None:
        self._forward = None  # both at once may not fit into memory
        self.precision, self._forward = name, self._load(name)

    @staticmethod
    def _logits(forward: Forward, sample: Sequence[Any]) -> list[NDArray[Any]]:
        with np.errstate(over="ignore"):
            return [forward(batch) for batch in sample]


def apart(exact: NDArray[Any], found: NDArray[Any]) -> float:
    """Return how far probabilities are from those of the exact logits: the greatest difference.

    Of one logit, which may be any number, it is by how much the chance that one of two is preferred
    to the other is off, were they the same: the logistic function of the difference, less a half.

    Parameters
    ----------
    exact, found : array, shape [n, k]
        Logits.

    Returns
    -------
    float
        In [0, 1]; 1 where a logit is no number.

    Examples
    --------
    >>> round(apart(np.array([[0.0, 0.0]]), np.array([[0.0, 0.1]])), 4)
    0.025
    """
    exact, found = np.asarray(exact, np.float64), np.asarray(found, np.float64)
    if not (np.isfinite(exact).all() and np.isfinite(found).all()):
        return 1.0
    if exact.shape[1] == 1:
        difference = np.column_stack((np.zeros(len(exact)), (found - exact)[:, 0]))
        return float(np.abs(softmax(difference)[:, 1] - 0.5).max(initial=0))
    return float(np.abs(softmax(found) - softmax(exact)).max(initial=0))


def softmax(logits: NDArray[Any]) -> NDArray[np.float64]:
    """Return the probabilities of logits: shape [n, k], the rows of which sum to 1."""
    exponents = np.exp(np.asarray(logits, np.float64) - logits.max(axis=1, keepdims=True))
    return np.asarray(exponents / exponents.sum(axis=1, keepdims=True))
