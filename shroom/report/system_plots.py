"""The figures of one system: reliability, accuracy by threshold, confusion, p by proportion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray

from shroom.evaluation.report import SystemReport
from shroom.metrics.accuracy_by_threshold import AccuracyByThreshold, accuracy_by_threshold
from shroom.metrics.classification import counts
from shroom.metrics.reliability import Reliability, reliability
from shroom.scoring.display.html import LIGHT
from shroom.scoring.display.text import number

_INK, _MUTED, _RULE = LIGHT["ink"], LIGHT["muted"], LIGHT["rule"]
_ACCENT, _SECOND = LIGHT["accent"], LIGHT["second"]
#: The looks of reference lines, of main marks and of second marks.
DASHED: Any = {"color": _MUTED, "linewidth": 0.8, "linestyle": (0, (3, 3))}
_FULL: Any = {"color": _ACCENT, "clip_on": False}
_HOLLOW: Any = {"color": _SECOND, "markerfacecolor": "none", "clip_on": False}
#: Caption of each figure, and the function that draws it.
Drawing = tuple[str, Callable[[Any], None]]
#: The number of sizes of dots, and of bins of p.
_SIZES, _BINS = 12, 20


def _columns(system: SystemReport) -> tuple[NDArray[Any], ...]:
    label, p, gold_label, gold_p = system.aligned.columns
    return label, np.clip(p, 0.0, 1.0), gold_label, gold_p  # p may leave [0, 1] by a rounding


def _words(system: SystemReport) -> tuple[str, ...]:
    """Return the edition's words for Hallucination and Not Hallucination."""
    return tuple(system.aligned.edition.file_labels.values())


def _reliability(system: SystemReport) -> Drawing:
    _, p, gold_label, gold_p = _columns(system)
    by_label, by_share = reliability(p, gold_label), reliability(p, gold_p)
    word, _ = _words(system)
    columns = by_label.edges, by_label.edges[1:], by_label.share, by_label.n
    bins = [
        f"{low:.1f} to {high:.1f}: {share:.2f} (n = {n})"
        for low, high, share, n in zip(*columns)
        if n > 0
    ]
    about = (
        f"Reliability of {system.name}: expected calibration error "
        f"{number(by_label.expected_error)} against labels, {number(by_share.expected_error)} "
        f"against the share of annotators who chose {word}. Share of hallucinations in "
        f"each bin of p: {'; '.join(bins)}."
    )
    curves = {"by proportion": by_share, "by majority label": by_label}
    return about, lambda axes: draw_reliability(axes, curves, by_label)


def draw_reliability(axes: Any, curves: Mapping[str, Reliability], counted: Reliability) -> None:
    """Draw two reliability curves, the second one stronger, and the distribution of ``counted``."""
    unit_square(axes, "p(Hallucination)", "share of hallucinations")
    axes.plot([0, 1], [0, 1], **DASHED)
    heights = 0.18 * counted.n / counted.n.max()
    widths = np.diff(counted.edges)
    axes.bar(counted.edges[:-1], heights, widths, align="edge", color=_RULE, linewidth=0)
    styles = ("s", 4, 0.8, _HOLLOW), ("o", 5, 1.2, _FULL)
    for (name, curve), (marker, size, width, style) in zip(curves.items(), styles):
        filled = curve.n > 0
        shape: Any = {"marker": marker, "markersize": size, "linewidth": width}
        axes.plot(curve.mean_p[filled], curve.share[filled], label=name, **shape, **style)
    legend(axes)


def _threshold(system: SystemReport) -> Drawing:
    _, p, gold_label, _ = _columns(system)
    curve, (word, _) = accuracy_by_threshold(p, gold_label), _words(system)
    at_half, best = curve.at(0.5), curve.best_threshold
    named = _named(best, curve)
    floor = system.score.floors["majority label"]["accuracy"] or 0.0
    about = (
        f"Accuracy of {system.name} if items with p above the threshold are labelled "
        f"{word}. At 0.5, the accuracy is {number(at_half)}. The best threshold, chosen "
        f"on these items, is {named} with accuracy {number(curve.at(best))}. The floor (majority "
        "label) is "
        f"{number(floor)}."
    )
    places, values = curve.thresholds, curve.accuracies
    places, values = np.append(places, 1.0), np.append(values, values[-1])

    def draw(axes: Any) -> None:
        low = min(float(values.min()), floor)
        unit_square(axes, "threshold", "accuracy")
        axes.set_ylim(max(-0.05, low - 0.05), min(1.02, float(values.max()) + 0.03))
        axes.plot(places, values, drawstyle="steps-post", color=_ACCENT, linewidth=1.2)
        label = f"0.5: {number(at_half)}"
        axes.plot(0.5, at_half, "o", markersize=5, label=label, **_FULL)
        label = f"best, {named}: {number(curve.at(best))}"
        axes.plot(best, curve.at(best), "D", markersize=7, label=label, **_HOLLOW)
        axes.axhline(floor, label=f"floor: majority label, {number(floor)}", **DASHED)
        legend(axes)

    return about, draw


def _named(best: float, curve: AccuracyByThreshold) -> str:
    """Return the best threshold with the fewest digits, at least two, that give its accuracy."""
    texts = (f"{best:.{digits}g}" for digits in range(2, 18))
    return next(text for text in texts if curve.at(float(text)) == curve.at(best))


def _confusion(system: SystemReport) -> Drawing:
    label, _, gold_label, _ = _columns(system)
    tp, fp, fn, tn = counts(label, gold_label).sum(axis=0).tolist()
    table, words = np.array([[tp, fn], [fp, tn]]), _words(system)
    about = (
        f"Confusion matrix of {system.name}. Items with the majority label {words[0]}: "
        f"{tp} flagged, {fn} missed. Other items: {fp} flagged, {tn} not flagged."
    )

    def draw(axes: Any) -> None:
        from matplotlib.patches import Rectangle

        for (row, column), count in np.ndenumerate(table):
            share = count / max(1, table.sum())
            colour = _ACCENT if row == column else _SECOND
            box = Rectangle((column, row), 1, 1, facecolor=colour, alpha=0.06 + 0.3 * share)
            axes.add_patch(box)
            place = (column + 0.5, row + 0.5)
            axes.text(*place, f"{count}", ha="center", va="bottom", fontsize=15, color=_INK)
            kind = "right" if row == column else "wrong"
            text = f"{100 * share:.1f}% · {kind}"
            axes.text(*place, text, ha="center", va="top", fontsize=8, color=_MUTED)
        axes.set(xlim=(0, 2), ylim=(2, 0), xlabel="system", ylabel="annotators' majority")
        axes.set_xticks([0.5, 1.5], words)
        axes.set_yticks([0.5, 1.5], words, rotation=90, va="center")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.axhline(1, color=LIGHT["paper"], linewidth=2)
        axes.axvline(1, color=LIGHT["paper"], linewidth=2)

    return about, draw


def _scatter(system: SystemReport) -> Drawing:
    (_, p, _, gold_p), (word, _) = _columns(system), _words(system)
    shares, place = np.unique(np.round(gold_p, 2), return_inverse=True)
    mean_p = np.bincount(place, weights=p) / np.bincount(place)
    means = [f"{share:.2f}: {mean:.2f}" for share, mean in zip(shares, mean_p)]
    about = (
        f"p of {system.name} against the share of annotators who chose {word}. The area "
        f"of a dot shows the number of items. Mean p by share: {'; '.join(means)}."
    )
    bins = np.minimum((p * _BINS).astype(np.intp), _BINS - 1)
    (row, column), counts = np.unique(np.stack([place, bins]), axis=1, return_counts=True)

    def draw(axes: Any) -> None:
        unit_square(axes, "annotators' proportion", "p(Hallucination)")
        axes.set_xlim(-0.06, 1.06)
        middles = (column + 0.5) / _BINS
        # One size at a time: the SVG then defines each marker only once.
        levels = np.ceil(_SIZES * counts / counts.max())
        for level in np.unique(levels).tolist():
            of_size = levels == level
            size = 2 + 11 * (level / _SIZES) ** 0.5
            dots: Any = {"markersize": size, "markeredgewidth": 0, "alpha": 0.45, **_FULL}
            axes.plot(shares[row][of_size], middles[of_size], "o", **dots)
        line: Any = {"marker": "D", "markersize": 5, "linewidth": 1, **_HOLLOW}
        axes.plot(shares, mean_p, label="mean p", **line)
        legend(axes)

    return about, draw


#: The figures of a system's labels and p, by name.
OF_SYSTEM: dict[str, Callable[[SystemReport], Drawing]] = {
    "reliability": _reliability,
    "threshold": _threshold,
    "confusion": _confusion,
    "scatter": _scatter,
}


def unit_square(axes: Any, across: str, up: str) -> None:
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel=across, ylabel=up)


def legend(axes: Any) -> None:
    """Draw the legend above the axes, where it hides no point."""
    columns = 2 if len(axes.get_legend_handles_labels()[1]) == 2 else 1
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns)
