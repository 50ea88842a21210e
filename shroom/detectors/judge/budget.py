"""What requests cost: estimated before, counted after, stopped in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from shroom.core.problems import ShroomError
from shroom.detectors import settings

_MILLION = 1_000_000


def tokens_in(text: str) -> int:
    """Return about how many tokens a text has: a quarter of its characters.

    Bytes of UTF-8 are what is counted, since scripts that take more of them take more tokens.

    Examples
    --------
    >>> tokens_in("a text of 24 characters.")
    6
    """
    return -(-len(text.encode("utf-8", "replace")) // 4)


@dataclass(frozen=True)
class Estimate:
    """What a run would ask for.

    Attributes
    ----------
    requests : int
        How many requests would be sent.
    cached : int
        How many answers are there already.
    tokens_in, tokens_out : int
        About how many tokens go in, and how many may come out at most.
    cost : float or None
        About what that costs; ``None`` where no prices are given.
    prompt : str
        The first prompt in full; empty where there is nothing to ask.

    Examples
    --------
    >>> print(Estimate(2, 1, 300, 16, 0.0123, "A question?"))
    2 requests (1 more is cached), about 300 tokens in and at most 16 out, at most about 0.0123
    <BLANKLINE>
    A question?
    """

    requests: int
    cached: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    prompt: str

    def __str__(self) -> str:
        cached = f"{self.cached} more {'is' if self.cached == 1 else 'are'} cached"
        cost = "the cost is not known without price_in and price_out"
        if self.cost is not None:
            cost = f"at most about {self.cost:.4g}"
        return (
            f"{self.requests} requests ({cached}), about {self.tokens_in} tokens in and at most "
            f"{self.tokens_out} out, {cost}\n\n{self.prompt}"
        )


class Reservation(NamedTuple):
    """Tokens that a request may use, as estimated, and what they cost."""

    into: int
    out: int
    cost: float


class Budget:
    """Lets requests pass for as long as their cost stays within a bound.

    Parameters
    ----------
    price_in, price_out : float or None
        For a million tokens.
    most : float or None
        The bound; without it everything passes.

    Examples
    --------
    >>> budget = Budget(price_in=1.0, price_out=0.0, most=0.0015)
    >>> first, second = budget.reserve(1000, 0), budget.reserve(1000, 0)
    >>> second is None
    True
    >>> budget.settle(first, (400, 0))
    >>> budget.reserve(1000, 0) is None, budget.spent
    (False, 0.0004)
    """

    def __init__(
        self,
        price_in: float | None = None,
        price_out: float | None = None,
        most: float | None = None,
    ) -> None:
        self.price_in, self.price_out, self.most = price_in, price_out, most
        self.spent = 0.0
        self._reserved = 0.0
        self._ratio = 1.0

    @classmethod
    def of(cls, price_in: object, price_out: object, max_cost: object) -> Budget:
        """Return the budget of these settings, each a number or ``None``.

        Raises
        ------
        ShroomError
            Where one is no number, or the bound has no prices.
        """
        given = (("price_in", price_in), ("price_out", price_out), ("max_cost", max_cost))
        budget = cls(*(None if v is None else settings.number(name, v) for name, v in given))
        if budget.most is not None and None in (budget.price_in, budget.price_out):
            raise ShroomError(
                "max_cost wants prices: give price_in and price_out, for a million tokens"
            )
        return budget

    def cost(self, tokens: tuple[float, float]) -> float:
        """Return what these tokens cost, in and out; 0 without prices."""
        return (tokens[0] * (self.price_in or 0) + tokens[1] * (self.price_out or 0)) / _MILLION

    def reserve(self, into: int, out: int) -> Reservation | None:
        """Return a reservation for a request of about so many tokens, or ``None``: too dear."""
        cost = self.cost((into * self._ratio, out))
        # A sum of many small costs may miss its bound by the last digit.
        if self.most is not None and self.spent + self._reserved + cost > self.most * (1 + 1e-9):
            return None
        self._reserved += cost
        return Reservation(into, out, cost)

    def settle(self, reserved: Reservation, used: tuple[int, int] | None) -> None:
        """Count what a request has used, where the server tells, else what was reserved."""
        self._reserved = max(0.0, self._reserved - reserved.cost)
        self.spent += self.cost(used) if used else reserved.cost
        if used and reserved.into:
            # A text may have more tokens than its length tells; the next are estimated so.
            self._ratio = max(self._ratio, used[0] / reserved.into)

    def release(self, reserved: Reservation) -> None:
        """Take back the reservation of a request that was not answered."""
        self._reserved = max(0.0, self._reserved - reserved.cost)
