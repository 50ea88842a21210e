"""What a model computes in: float32, or a faster precision that was asked for and agrees with it.

Another precision is compared with float32 on a sample of what is to be computed before it is
trusted. A model that leaves its range later goes over to float32 for good.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from shroom.core.problems import ShroomError
from shroom.inference.batching import lacks_memory
from shroom.inference.ordered_pool import Ahead

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Forward = Callable[[Any], NDArray[Any]]

#: What can be asked for; ``auto`` is the fastest of those that agree with float32.
PRECISIONS = ("auto", "float32", "bfloat16", "float16", "int8")
#: The most that a probability may be off.
TOLERANCE = 0.02


def precisions(asked: str | None, device: str) -> tuple[str, ...]:
    """Return the precisions to be tried on a device; the last is float32.

    Parameters
    ----------
    asked : str or None
        One of ``PRECISIONS``; ``None`` is the default, float32.
    device : str
        As torch names it.

    Raises
    ------
    ShroomError
        Where the device cannot have it.

    Examples
    --------
    >>> precisions(None, "cpu"), precisions("bfloat16", "cuda:1")
    (('float32',), ('bfloat16', 'float32'))
    """
    kind = device.partition(":")[0]
    asked = asked or "float32"
    if asked not in PRECISIONS:
        raise ShroomError(f"precision: {asked} is none of {', '.join(PRECISIONS)}")
    if asked == "int8" and kind != "cpu":
        raise ShroomError(f"precision int8 is for the CPU, and the device is {device}")
    first = _fast(kind) if asked == "auto" else (asked,)
    return (*(name for name in first if name != "float32"), "float32")


def _fast(kind: str) -> tuple[str, ...]:
    """Return what a kind of device may compute faster than float32."""
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
    clock : callable, optional
        Returns seconds. All precisions are timed by it on the sample, and the fastest is taken;
        without it, the first.
    workers : int
        How many batches are computed at the same time when they are timed, as later.

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
        precisions: Sequence[str],
        *,
        clock: Callable[[], float] | None = None,
        workers: int = 1,
    ) -> None:
        self._load, self._precisions = load, tuple(precisions)
        self._clock, self._workers = clock, workers
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
        if not tried:
            self._use(last)
            if self._clock:
                note(f"--precision auto computes in {last}: nothing else is fast on this device")
            return
        forward = self._had(last)
        exact = [_logits(forward, batch) for batch in sample]
        fitting = [batch for batch, logits in zip(sample, exact) if logits is not None]
        seconds = {last: self._seconds(forward, fitting)}
        del forward
        for name in tried:
            self._forward = None
            self._forward = self._compared(name, exact, sample)
            if self._forward:
                self.precision = name
                if not self._clock:
                    return
                seconds[name] = self._seconds(self._forward, fitting)
        best = min(seconds, key=seconds.__getitem__)
        if self._clock:
            gain = ""
            if best != last:
                ratio = seconds[last] / max(seconds[best], 1e-9)
                gain = f", {ratio:.1f} times as fast as {last} on the sample"
            note(f"--precision auto computes in {best}{gain}")
        if self._forward is None or self.precision != best:
            self._use(best)

    def _seconds(self, forward: Forward, sample: Sequence[Any]) -> float:
        """Return how long batches take that have been computed before: the shorter of two times."""
        if not self._clock:
            return 0.0
        taken = []
        for _ in range(2):
            began = self._clock()
            with Ahead[Any](self._workers) as ahead:
                for batch in sample:
                    if ahead.full:
                        ahead.next()[1]()
                    ahead.ask(None, partial(_logits, forward, batch))
                while ahead.waiting:
                    ahead.next()[1]()
            taken.append(self._clock() - began)
        return min(taken)

    def _compared(
        self, name: str, exact: list[NDArray[Any] | None], sample: Sequence[Any]
    ) -> Forward | None:
        """Return the forward pass in a precision if it agrees with the exact logits; note it."""
        last = self._precisions[-1]
        try:
            forward = self._had(name)
            found = [_logits(forward, batch) for batch in sample]
        except Exception as error:  # noqa: BLE001 - an operator may be missing, and much more
            self._note(f"{name} cannot be had: {next(iter(str(error).splitlines()), '')}")
            return None
        both = [(x, y) for x, y in zip(exact, found) if x is not None and y is not None]
        n = sum(len(x) for x, _ in both)
        if len(both) < len(sample):
            left_out = sum(map(len, sample)) - n
            self._note(
                f"{left_out} of a sample did not fit into memory, and tell nothing of {name}"
            )
        if sample and not both:
            return None
        off = max((apart(x, y) for x, y in both), default=0.0)
        if off <= TOLERANCE:
            self._note(f"{name} is at most {off:.4f} off {last} on a sample of {n}")
            return forward
        self._note(f"{name} is {off:.4f} off {last} on a sample of {n}, so it is not used")
        return None

    def __call__(self, batch: Any) -> NDArray[Any]:
        """Return what the forward pass gives, which may not be finite in a short precision."""
        if self._forward is None:
            self._use(self.precision)
        assert self._forward is not None  # noqa: S101 - it is None only while loading
        with np.errstate(over="ignore"):
            return self._forward(batch)

    def fall_back(self) -> bool:
        """Compute in the last precision from now on; return whether it was another one before."""
        last = self._precisions[-1]
        if self.precision == last:
            return False
        self._note(f"{self.precision} gave a value that is not finite: from there on, {last}")
        self._use(last)
        return True

    def _use(self, name: str) -> None:
        self._forward = None  # both at once may not fit into memory
        self.precision, self._forward = name, self._had(name)

    def _had(self, name: str) -> Forward:
        """Return the forward pass in a precision; where memory does not suffice, say so."""
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
