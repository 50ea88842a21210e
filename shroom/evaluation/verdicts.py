"""The answers of comparisons, leaderboards and rescorings, as sentences."""

# The results import this module, so here their rows have the type Any.

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shroom.core.printing import counted
from shroom.metrics.intervals import Intervals
from shroom.scoring.display.text import figure, in_words, p_in_words, within

#: The level of significance of all tests.
ALPHA = 0.05
#: The most significant pairs of a metric that are named one by one.
_MOST = 3


def by_place(by_track: Sequence[tuple[str, str]], systems: Iterable[str]) -> str:
    """Return a sentence for each track, which is named if there are several."""
    names, sentences = tuple(systems), []
    for place, said in by_track:
        if place and len(by_track) > 1:
            first = said[0] if said.startswith(names) else said[0].lower()
            sentences.append(f"On {place}, {first}{said[1:]}.")
        else:
            sentences.append(f"{said}.")
    return " ".join(sentences)


def _in_brackets(*parts: str) -> str:
    shown = ", ".join(filter(None, parts))
    return f" ({shown})" if shown else ""


# Comparisons


def of_comparisons(found: Any) -> str:
    """Return which systems are better, in which metric, by how much and how surely."""
    tracks: dict[str, dict[str, list[Any]]] = {}
    for pair in found.comparisons:
        tracks.setdefault(pair.place, {}).setdefault(pair.metric, []).append(pair)
    sentences = [
        (place, _of_metrics([*by_metric.values()], found.intervals))
        for place, by_metric in tracks.items()
    ]
    known = [pair.p_adjusted for pair in found.comparisons if pair.p_adjusted is not None]
    if len(tracks) > 1 and known and min(known) > ALPHA:
        metrics = " or ".join(dict.fromkeys(pair.metric for pair in found.comparisons))
        none = f"no difference in {metrics} is significant on any track"
        pairs = next(iter(tracks[sentences[0][0]].values()))
        sentences = [("", f"{_which(pairs)}: {none} (smallest {p_in_words(min(known))})")]
    answer = by_place(sentences, {name for pair in found.comparisons for name in (pair.a, pair.b)})
    warning = unfair(found.fitted)
    return f"{answer} {warning}." if warning else answer


def unfair(fitted: Sequence[str]) -> str:
    """Return that a comparison with fitted systems is not fair; nothing if there are none."""
    was = "were" if len(fitted) > 1 else "was"
    why = f"The comparison is not fair: {in_words(fitted)} {was} fitted on items in the gold"
    return why if fitted else ""


def _of_metrics(metrics: list[list[Any]], intervals: Intervals) -> str:
    """Return the clauses of the metrics of one track, those with a significant difference first."""
    metrics.sort(key=lambda pairs: not any(pair.significant for pair in pairs))
    answer = "; ".join(_of_pairs(pairs, intervals) for pairs in metrics)
    is_clear = any(pair.significant for pair in metrics[0])
    return answer if is_clear else f"{_which(metrics[0])}: {answer}"


def _which(pairs: Sequence[Any]) -> str:
    either = f"{pairs[0].a} or {pairs[0].b}" if len(pairs) == 1 else "any system"
    return f"The results do not show whether {either} is better"


def _of_pairs(pairs: Sequence[Any], intervals: Intervals) -> str:
    """Return the significant differences in one metric, or that there is none."""
    count, metric, pair = len(pairs), pairs[0].metric, pairs[0]
    known = [it.p_adjusted for it in pairs if it.p_adjusted is not None]
    real = [it for it in pairs if it.significant]
    if not known:
        return (
            f"in {metric} {'the difference is' if count == 1 else 'all differences are'} undefined"
        )
    if count == 1:
        by, ci = _absolute(pair)
        how = within(ci, intervals), p_in_words(known[0])
        if real:
            return f"{_better(pair)} in {metric} by {by}{_in_brackets(*how)}"
        higher = pair.a if pair.difference > 0 else pair.b
        shown = f"{higher} scores {by} higher" if pair.difference else "equal scores"
        return f"in {metric} the difference is not significant{_in_brackets(shown, *how)}"
    if not real:
        least = f"smallest {p_in_words(min(known))}, corrected for {count} pairs"
        return f"in {metric} none of the {count} differences is significant ({least})"
    said = (
        f"{len(real)} of the {count} differences in {metric} {_are(len(real))} significant "
        f"(p corrected for {count} pairs)"
    )
    named = [f"{_better(it)} by {_absolute(it)[0]} ({p_in_words(it.p_adjusted)})" for it in real]
    return said if len(real) > _MOST else f"{said}: {in_words(named)}"


def _better(pair: Any) -> str:
    is_a = (pair.difference > 0) == pair.higher_is_better
    return f"{pair.a} is better than {pair.b}" if is_a else f"{pair.b} is better than {pair.a}"


def _absolute(pair: Any) -> tuple[str, Any]:
    """Return the absolute difference of a pair, and its interval."""
    ci = pair.ci and (-pair.ci[1], -pair.ci[0]) if pair.difference < 0 else pair.ci
    return figure(abs(pair.difference)), ci


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


# Leaderboards


def of_leaderboard(board: Any) -> str:
    """Return who is first on each track, and from which systems and floor it does not differ."""
    ranked = list[tuple[str, str]]()
    for title, rows in board.tracks.items():
        systems = [row for row in rows if row.kind == "system"]
        floors = {row.system: row.scores.get(board.metric) for row in rows if row.kind == "floor"}
        best = systems[0].estimates[board.metric]
        floor = not_above_floor(best, floors, higher_is_better=board.higher_is_better)
        ranked.append((title, f"{_of_ranks(systems, board)}{floor}"))
    answer = by_place(ranked, {row.system for row in board.rows})
    if count := len(board.invalid):
        answer += f" {counted(count, 'submission')} {_are(count)} not ranked because of errors."
    return answer


def not_above_floor(
    first: Any, floors: Mapping[str, float | None], *, higher_is_better: bool = True
) -> str:
    """Return a second sentence if the first system is not clearly better than the best floor."""
    sign, side = (1, "above") if higher_is_better else (-1, "below")
    known = {name: it for name, it in floors.items() if it is not None}
    if not known or first.value is None:
        return ""
    best = max(known, key=lambda name: sign * known[name])
    if all(sign * end > sign * known[best] for end in first.ci or (first.value,)):
        return ""
    what, entirely = ("confidence interval", "entirely ") if first.ci else ("score", "")
    floor = f"the best floor ({best}, {figure(known[best])})"
    return f". The first system's {what} is not {entirely}{side} {floor}"


def _of_ranks(rows: Sequence[Any], board: Any) -> str:
    metric = board.metric
    first, others = ([row for row in rows if (row.rank == 1) == is_first] for is_first in (1, 0))
    estimate, count = rows[0].estimates[metric], len(others)
    if estimate.value is None:
        return f"No system has a defined {metric}"
    fitted = "fitted on items of this gold" if any(row.in_sample for row in first) else ""
    how = _in_brackets(figure(estimate.value), within(estimate.ci, board.intervals), fitted)
    is_first = "is first" if len(first) == 1 else "are tied for first place"
    sentence = f"{in_words([row.system for row in first])} {is_first} by {metric}{how}"
    if not others:
        return sentence if len(first) > 1 else f"{sentence}; no other system is ranked"
    if rows[0].group is None:
        rest = "the other system is" if count == 1 else f"the {count} other systems are"
        return f"{sentence}; it was not tested whether {rest} significantly worse"
    alike = [row.system for row in others if row.like_first]
    if not alike:
        rest = others[0].system if count == 1 else f"each of the {count} other systems"
        return f"{sentence}; the difference from {rest} is significant"
    if len(alike) < count:
        some = f"{len(alike)} of the {count} other systems ({in_words(alike)})"
        return f"{sentence}; {some} {_are(len(alike))} not significantly worse"
    if count == 1:
        return f"{sentence}; the difference from {alike[0]} is not significant"
    return f"{sentence}; none of the differences from the {count} other systems is significant"


# Rescorings


def of_rescoring(found: Any) -> str:
    """Return whether anything changes with the new gold, and which ranks change significantly."""
    if all(not track.changed for track in found.tracks):
        return "Nothing changes: all scores and ranks are the same with the old and the new gold."
    tracks = [(track.title, _of_changes(track)) for track in found.tracks]
    return by_place(tracks, {row.system for track in found.tracks for row in track.systems})


def _of_changes(track: Any) -> str:
    rows = track.systems
    if not track.changed:
        return "Nothing changes"
    ranges = {it: _range([row.scores[it].difference for row in rows]) for it in rows[0].scores}
    changes = [f"{name} changes by {more}" for name, more in ranges.items() if more]
    if len(rows) == 1:
        return f"For {rows[0].system}, {in_words(changes)}"
    moved = [row for row in rows if row.rank.difference]
    if not moved:
        return "; ".join(["The ranks stay the same", *changes])
    old = in_words([row.system for row in rows if row.rank.old == 1])
    new = in_words([row.system for row in rows if row.rank.new == 1])
    first = f"{new} {'remains first' if old == new else f'is first instead of {old}'}"
    ranks = track.moved
    if all(row.rank.ci is not None for row in rows):
        real = [row for row in moved if row.is_clear]
        named = in_words([f"{row.system} from {row.rank.old} to {row.rank.new}" for row in real])
        clear = f": {named} (intervals not corrected for {len(rows)} systems)" if real else ""
        ranks += f", {len(real) or 'none'} significantly{clear}"
    return "; ".join([ranks, first, *changes])


def _range(values: Iterable[Any]) -> str:
    """Return the least and the greatest change; nothing if all are 0 or undefined."""
    known = [value for value in values if value is not None]
    if not any(known):
        return ""
    low, high = (("+" if it > 0 else "") + figure(it) for it in (min(known), max(known)))
    return low if low == high else f"{low} to {high}"
