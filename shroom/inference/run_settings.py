"""The settings of a prediction: device, precision, batch size, progress and stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from shroom.inference.store import Store


def _silent(*_: object) -> None:
    """Report nothing."""


#: Maximum number of tokens in a batch, to fit into a processor's cache or to fill a GPU.
BATCH_TOKENS = {"cpu": 384, "cuda": 32768, "mps": 8192}


#: The values of ``--precision``; ``int8`` is for the kit's own kind of model.
PRECISIONS = ("float32", "bfloat16", "float16", "int8")


@dataclass(frozen=True)
class Run:
    """The settings of a prediction. Only ``in_sample`` and (slightly) ``precision`` affect p.

    Attributes
    ----------
    batch_tokens : int or None
        Maximum number of tokens in a batch, including padding. The default depends on the device.
    device : str or None
        ``"cpu"``, ``"cuda"``, ``"cuda:1"`` or ``"mps"``. The default is the fastest device.
    report : callable
        Called after each batch with the number of finished items and the total.
    note : callable
        Called with each note to the user, for example if texts were truncated.
    stores : sequence of Store
        Where results are looked up and stored: the store from which the run can be resumed,
        and the user's cache.
    precision : str or None
        The number format that models compute in: one of :data:`PRECISIONS`. The default is int8 for
        the kit's own model, and float32 for all other models, on every device.
    in_sample : bool
        Whether a fitted detector uses its model for training items too, instead of returning their
        out-of-fold p.
    precisions : set of str
        The precisions that models have used so far.
    """

    batch_tokens: int | None = None
    device: str | None = None
    report: Callable[[int, int], None] = _silent
    note: Callable[[str], None] = _silent
    stores: Sequence[Store] = ()
    precision: str | None = None
    in_sample: bool = False
    precisions: set[str] = field(default_factory=set, compare=False)

    @property
    def tokens(self) -> int:
        """Maximum number of tokens in one batch on the run's device.

        Examples
        --------
        >>> Run(device="cuda:1").tokens, Run(64, "cuda").tokens
        (32768, 64)
        """
        kind = (self.device or "cpu").partition(":")[0]
        return self.batch_tokens or BATCH_TOKENS.get(kind, BATCH_TOKENS["cpu"])

    def bare(self) -> Run:
        """Return this run without its callbacks and stores, which belong to one process."""
        return replace(self, report=_silent, note=_silent, stores=(), precisions=set())


#: A run with the default settings.
RUN = Run()
