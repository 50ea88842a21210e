"""The cost of requests: estimated before they are sent, and counted afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from shroom.core.printing import counted

_MILLION = 1_000_000


def tokens_in(text: str) -> int:
    """Return an estimate of a text's tokens: a quarter of its bytes, in any script."""
    return -(-len(text.encode("utf-8", "replace")) // 4)


@dataclass(frozen=True)
class Estimate:
    """The requests of a run, its tokens (for output the maximum) and its maximum cost."""

    requests: int
    cached: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    prompt: str

    def __str__(self) -> str:
        requests = counted(self.requests, "request")
        cached = f"{counted(self.cached, 'more answer')} from the cache"
        cost = "unknown cost (set price_in and price_out)"
        if self.cost is not None:
            cost = f"an estimated cost of up to {self.cost:.4g}"
        return (
            f"{requests} ({cached}), about {self.tokens_in} input tokens, at most "
            f"{self.tokens_out} output tokens, {cost}\n\n{self.prompt}"
        )


@dataclass
class Budget:
    """Accepts requests while their total cost is at most the maximum."""

    #: Prices of a million input and output tokens.
    price_in: float | None = None
    price_out: float | None = None
    #: The maximum cost.
    most: float | None = None
    spent: float = 0.0
    _reserved: float = 0.0
    _ratio: float = 1.0

    @property
    def priced(self) -> bool:
        """Whether both prices are given."""
        return None not in (self.price_in, self.price_out)

    def cost(self, into: float, out: float) -> float:
        """Return the cost of input and output tokens; 0 without prices."""
        return (into * (self.price_in or 0) + out * (self.price_out or 0)) / _MILLION

    def reserve(self, into: int, out: int) -> float | None:
        """Reserve and return the cost of a request; ``None`` if it might exceed the maximum."""
        cost = self.cost(into * self._ratio, out)
        total = self.spent + self._reserved + cost
        # Sums are inexact in the last digit.
        if self.most is not None and total > self.most * (1 + 1e-9):
            return None
        self._reserved += cost
        return cost

    def settle(self, into: int, reserved: float, used: tuple[int, int] | None) -> None:
        """Count the tokens that the server reports, or the reserve; ``into`` is an estimate."""
        self._reserved = max(0.0, self._reserved - reserved)
        self.spent += self.cost(*used) if used else reserved
        if used and into:
            # If texts have more tokens than estimated, later estimates are raised accordingly.
            self._ratio = max(self._ratio, used[0] / into)
