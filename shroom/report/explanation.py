"""An explanation as terminal text, JSON or page."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
from rich.text import Text

from shroom.core.printing import TABLE_WIDTH, printable, printable_lines
from shroom.detectors.explain import Explanation
from shroom.report.results import TEMPLATES
from shroom.scoring.display import html
from shroom.scoring.display.text import number
from shroom.scoring.result import Result
from shroom.scoring.tables import Table

#: Smaller weights are shown as 0.
_NOTHING = 0.0005
#: On a terminal: the background of the words that raise p most, and of those that lower it.
_UP, _DOWN = (255, 120, 110), (120, 170, 255)


@dataclass(frozen=True, repr=False)
class ShownExplanation(Result):
    """An explanation with its detector, datapoint and threshold; ``about`` extends its JSON."""

    explanation: Explanation
    detector: str
    place: str
    threshold: float
    about: dict[str, Any]

    def __repr__(self) -> str:
        return f"ShownExplanation({self.place}, {self.detector}: {self.verdict})"

    def tables(self) -> list[Table]:
        """Return the words with their weights, the strongest first."""
        words = zip(self.explanation.words, self.explanation.weights)
        rows = [(it, _signed(weight)) for it, weight in sorted(words, key=lambda it: -abs(it[1]))]
        title = f"{self.place}, {self.detector}"
        return [Table(title, ("word", "weight"), rows)]

    def to_dict(self) -> dict[str, Any]:
        it = self.explanation
        words = [
            {"text": word, "start": start, "end": end, "weight": weight}
            for word, (start, end), weight in zip(it.words, it.spans, it.weights)
        ]
        p = {"p": it.p, "in_sample": it.in_sample, "threshold": self.threshold, "label": self.label}
        texts = {"hyp": it.hyp, "premises": [*it.premises], "words": words}
        return {"detector": self.detector, **self.about, **p, **texts}

    def render(self, form: str) -> str:
        shown = {"text": _printed, "html": as_page}.get(form)
        return super().render(form) if shown is None else shown(self)

    @property
    def label(self) -> str:
        flagged = self.explanation.flagged
        if flagged is None:
            flagged = bool(np.round(self.explanation.p, 6) > self.threshold)
        return "Hallucination" if flagged else "Not Hallucination"

    @property
    def verdict(self) -> str:
        it = self.explanation
        why = f"threshold {self.threshold:g}" if it.flagged is None else "by the answer, not by p"
        seen = f" (in-sample: {self.detector} was fitted on this datapoint)" * bool(it.in_sample)
        return f"p(Hallucination) {number(it.p)}{seen}: {self.label} ({why})"


def _printed(shown: ShownExplanation) -> str:
    """Return the text for the terminal; files and pipes get no colours."""
    from rich.console import Console

    console = Console(highlight=False, file=None if TABLE_WIDTH.get() else io.StringIO())
    with console.capture() as captured:
        console.print(as_text(shown), soft_wrap=not console.is_terminal)
    return captured.get()


def as_text(shown: ShownExplanation) -> Text:
    """Return the coloured hypothesis, then the weight of every word."""
    it = shown.explanation
    text = Text(f"{shown.verdict}\n{printable(shown.place)}, {shown.detector}\n")
    for premise in it.premises:
        text.append(f"premise: {printable(premise)}\n")
    text.append("\n")
    most = _most(it)
    for piece, weight in it.pieces():
        safe = " " * len(piece) if piece.isspace() else printable(piece)
        text.append(safe, _style(weight / most) if weight and _is_shown(weight) else "")
    weights = (
        f"{_signed(weight)}  {printable(word)}" for word, weight in zip(it.words, it.weights)
    )
    return text.append("\n\n" + "\n".join(weights))


def as_page(shown: ShownExplanation) -> str:
    most, premises = _most(shown.explanation), shown.explanation.premises
    words = "".join(_span(piece, weight, most) for piece, weight in shown.explanation.pieces())
    against = "".join(f"<dt>Premise</dt><dd dir=auto>{_text(it)}</dd>" for it in premises)
    content = (
        f"<p class=verdict>{_text(shown.verdict)}</p>\n<p>{_text(shown.place)}; detector "
        f"{_text(shown.detector)}.</p>\n<p class=hyp dir=auto>{words}</p>\n"
        "<p class=key><span class=up style=--w:.7>+ red, underlined</span> raises "
        "p(Hallucination); <span class=down style=--w:.7>− blue, dotted</span> lowers it. "
        "The weight of a word is the difference between p with the word and p without it.</p>\n"
        f"<dl>{against}</dl>\n"
    )
    tables = html.html([replace(shown.tables()[0], title="Weights", about=())])
    style = (TEMPLATES / "explanation.css").read_text(encoding="utf-8")
    return html.page("Which words raise or lower p", content + tables, style=f"\n{style}")


def _span(piece: str, weight: float | None, most: float) -> str:
    if weight is None:
        return _text(piece)
    look = ""
    if _is_shown(weight):
        look = f' class={"up" if weight > 0 else "down"} style="--w:{abs(weight) / most:.3f}"'
    return f'<span{look} title="{_signed(weight)}">{_text(piece)}</span>'


def _text(text: str) -> str:
    return escape(printable_lines(text))


def _is_shown(weight: float | None) -> bool:
    return weight is not None and abs(weight) >= _NOTHING


def _most(explanation: Explanation) -> float:
    return max(map(abs, explanation.weights), default=0.0) or 1.0


def _signed(weight: float) -> str:
    return f"{weight:+.3f}".replace("-", "−") if _is_shown(weight) else " 0.000"


def _style(share: float) -> str:
    strength, colour = 0.25 + 0.75 * abs(share), _UP if share > 0 else _DOWN
    parts = ",".join(str(round(255 - strength * (255 - part))) for part in colour)
    return f"black on rgb({parts})"  # dark on light reads on any terminal
