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
    sentences = [(place, _of_metrics(by_metric, found)) for place, by_metric in tracks.items()]
    known = [pair.p_adjusted for pair in found.comparisons if pair.p_adjusted is not None]
    if len(tracks) > 1 and len(known) == len(found.comparisons) and min(known) > ALPHA:
        metrics = " or ".join(dict.fromkeys(pair.metric for pair in found.comparisons))
        families = [of_metric for by_metric in tracks.values() for of_metric in by_metric.values()]
        least = _least(max(families, key=len), min(known), found.trials)
        none = f"no difference in {metrics} is significant on any track ({least})"
        sentences = [("", f"{_which(families[0])}: {none}")]
    answer = by_place(sentences, {name for pair in found.comparisons for name in (pair.a, pair.b)})
    warning = unfair(found.fitted)
    return f"{answer} {warning}." if warning else answer


def unfair(fitted: Sequence[str]) -> str:
    """Return that a comparison with fitted systems is not fair; nothing if there are none."""
    was = "were" if len(fitted) > 1 else "was"
    why = f"The comparison is not fair: {in_words(fitted)} {was} fitted on items in the gold"
    return why if fitted else ""


def _of_metrics(by_metric: dict[str, list[Any]], found: Any) -> str:
    """Return the clauses of the metrics of one track, those with a significant difference first."""
    pairs = next(iter(by_metric.values()))
    real = {name: [it for it in of if it.significant] for name, of in by_metric.items()}
    clear = {name: significant for name, significant in real.items() if significant}
    if len(pairs) == 1:
        said = _of_one_pair([pair for (pair,) in clear.values()], found.intervals)
    else:
        said = [_of_pairs(name, len(pairs), of, found.baseline) for name, of in clear.items()]
    said += [_not_significant(it, of, found) for it, of in by_metric.items() if it not in clear]
    answer = "; ".join(said)
    if not clear:
        return f"{_which(pairs)}: {answer}"
    return answer if len(pairs) == 1 else f"{answer[0].upper()}{answer[1:]}"


def _which(pairs: Sequence[Any]) -> str:
    either = f"{pairs[0].a} or {pairs[0].b}" if len(pairs) == 1 else "any system"
    return f"The results do not show whether {either} is better"


def _of_one_pair(real: Sequence[Any], intervals: Intervals) -> list[str]:
    """Return in which metrics the one system is better, and in which the other one."""
    metrics: dict[str, list[str]] = {}
    for pair in real:
        by, ci = _absolute(pair)
        how = _in_brackets(within(ci, intervals), p_in_words(pair.p_adjusted))
        better = " is better than ".join(_better_and_worse(pair))
        metrics.setdefault(better, []).append(f"in {pair.metric} by {by}{how}")
    return [f"{better} {in_words(it, len(it))}" for better, it in metrics.items()]


def _better_and_worse(pair: Any) -> tuple[str, str]:
    return (pair.a, pair.b) if (pair.difference > 0) == pair.higher_is_better else (pair.b, pair.a)


def _of_pairs(metric: str, count: int, real: Sequence[Any], baseline: str | None) -> str:
    """Return the significant differences of several pairs, by the corrected p."""
    corrected = f"(p corrected for {count} pairs)"
    if len(real) > _MOST and baseline is not None:
        better = sum(_better_and_worse(pair)[1] == baseline for pair in real)
        worse = len(real) - better
        return (
            f"{better} of the {count} systems {_are(better)} better than {baseline} in {metric} "
            f"and {worse} {_are(worse)} worse {corrected}"
        )
    every = "both" if count == 2 else f"all {count}"
    how_many = every if len(real) == count else f"{len(real)} of the {count}"
    said = f"{how_many} differences in {metric} {_are(len(real))} significant {corrected}"
    named = [
        f"{' is better than '.join(_better_and_worse(pair))} by {_absolute(pair)[0]} "
        f"({p_in_words(pair.p_adjusted)})"
        for pair in real
    ]
    return said if len(real) > _MOST else f"{said}: {in_words(named)}"


def _not_significant(metric: str, pairs: Sequence[Any], found: Any) -> str:
    """Return that no difference is significant, with the least p."""
    count, known = len(pairs), [it.p_adjusted for it in pairs if it.p_adjusted is not None]
    if not known:
        what = "the difference is" if count == 1 else "all differences are"
        return f"in {metric} {what} undefined"
    if count > 1:
        least = _least(pairs, min(known), found.trials)
        return f"in {metric} none of the {count} differences is significant ({least})"
    pair, few = pairs[0], _too_few(1, found.trials)
    by, ci = _absolute(pair)
    higher = pair.a if pair.difference > 0 else pair.b
    shown = f"{higher} scores {by} higher" if pair.difference else "equal scores"
    how = _in_brackets(shown, within(ci, found.intervals), p_in_words(known[0]))
    return f"in {metric} the difference is not significant{how}{f'; {few}' if few else ''}"


def _absolute(pair: Any) -> tuple[str, Any]:
    """Return the absolute difference of a pair, and its interval."""
    ci = pair.ci and (-pair.ci[1], -pair.ci[0]) if pair.difference < 0 else pair.ci
    return figure(abs(pair.difference)), ci


def _least(pairs: Sequence[Any], p: float, trials: int) -> str:
    count = len(pairs)
    corrected = f"corrected for {count} pairs" if count > 1 else ""
    few = _too_few(count, trials)
    return ", ".join(filter(None, (f"smallest {p_in_words(p)}", corrected, few and f"and {few}")))


def _too_few(count: int, trials: int) -> str:
    """Return that no p can be significant, if the trials are too few for this number of pairs."""
    if count / (trials + 1) <= ALPHA:
        return ""
    among = f" among {count} pairs" if count > 1 else ""
    return f"with {counted(trials, 'trial')}, no difference{among} can be significant"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


# Leaderboards


def of_leaderboard(board: Any) -> str:
    """Return who is first on each track, and from which systems and floor it does not differ."""
    ranked = list[tuple[str, str]]()
    for title, rows in board.tracks.items():
        systems = [row for row in rows if row.kind == "system"]
        floors = {row.system: row.scores.get(board.metric) for row in rows if row.kind == "floor"}
        scores = [row.estimates[board.metric] for row in systems]
        floor = not_above_floor(scores, floors, higher_is_better=board.higher_is_better)
        ranked.append((title, f"{_of_ranks(systems, board)}{floor}"))
    answer = by_place(ranked, {row.system for row in board.rows}) or "No submission can be ranked."
    if count := len(board.invalid):
        answer += f" {counted(count, 'submission')} {_are(count)} not ranked because of errors."
    return answer


def not_above_floor(
    scores: Sequence[Any], floors: Mapping[str, float | None], *, higher_is_better: bool = True
) -> str:
    """Return a second sentence if the first system is not clearly better than the best floor."""
    sign, side = (1, "above") if higher_is_better else (-1, "below")
    known = {name: it for name, it in floors.items() if it is not None}
    if not known or scores[0].value is None:
        return ""
    best = max(known, key=lambda name: sign * known[name])
    ends = [it.ci or (it.value,) for it in scores if it.value is not None]
    clear = [all(sign * end > sign * known[best] for end in own) for own in ends]
    if clear[0]:
        return ""
    what, entirely = ("confidence interval", "entirely ") if scores[0].ci else ("score", "")
    only_first = len(clear) == 1 or any(clear)
    own = "The first system's" if len(scores) > 1 else "The system's"
    which = f"{own} {what} is not" if only_first else f"No {what} is"
    return f". {which} {entirely}{side} the best floor ({best}, {figure(known[best])})"


def _of_ranks(rows: Sequence[Any], board: Any) -> str:
    metric = board.metric
    first, lead = [row for row in rows if row.rank == 1], rows[0]
    estimate = lead.estimates[metric]
    if estimate.value is None:
        return f"No system has a defined {metric}"
    undefined = [row.system for row in rows if row.estimates[metric].value is None]
    others = [row for row in rows if row.rank != 1 and row.system not in undefined]
    without = f"; {metric} of {in_words(undefined)} is undefined" if undefined else ""
    fitted = "fitted on items of this gold" if any(row.in_sample for row in first) else ""
    how = _in_brackets(figure(estimate.value), within(estimate.ci, board.intervals), fitted)
    names = in_words([row.system for row in first])
    is_first = "is first" if len(first) == 1 else "are tied for first place"
    sentence = f"{names} {is_first} by {metric}{how}{without}"
    if not others:
        return sentence if undefined or len(first) > 1 else f"{sentence}; no other system is ranked"
    count = len(others)
    if few := board.trials and _too_few(len(rows) * (len(rows) - 1) // 2, board.trials):
        return f"{sentence}; it is unknown whether other systems are worse, because {few}"
    if lead.group is None:
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
    tracks = [(track.title, _of_changes(track, found.metric)) for track in found.tracks]
    return by_place(tracks, {row.system for track in found.tracks for row in track.systems})


def _of_changes(track: Any, metric: str) -> str:
    rows = track.systems
    if not track.changed:
        return "Nothing changes"
    ranges = {it: _range([row.scores[it].difference for row in rows]) for it in rows[0].scores}
    change = ranges.pop(metric)
    changes = [f"{name} by {more}" for name, more in ranges.items() if more]
    if change:
        scores = f"{metric} changes by {in_words([change, *changes], 1 + len(changes))}"
    else:
        first_other, _, rest = in_words(changes, len(changes)).partition(" ")
        but = f", but {first_other} changes {rest}" if changes else ""
        scores = f"{metric} does not change{but}"
    if len(rows) == 1:
        return f"For {rows[0].system}, {scores}"
    moved = [row for row in rows if row.rank.difference]
    if not moved:
        return f"The ranks stay the same; {scores}"
    old = in_words([row.system for row in rows if row.rank.old == 1])
    new = in_words([row.system for row in rows if row.rank.new == 1])
    first = f"{new} {'remains first' if old == new else f'is first instead of {old}'}"
    ranks = track.moved
    if all(row.rank.ci is not None for row in rows):
        real = [row for row in moved if row.is_clear]
        named = in_words([f"{row.system} from {row.rank.old} to {row.rank.new}" for row in real])
        clear = f": {named} (intervals not corrected for {len(rows)} systems)" if real else ""
        ranks += f", {len(real) or 'none'} significantly{clear}"
    return f"{ranks}; {first}; {scores}"


def _range(values: Iterable[Any]) -> str:
    """Return the least and the greatest change; nothing if all are 0 or undefined."""
    known = [value for value in values if value is not None]
    if not any(known):
        return ""
    low, high = (("+" if it > 0 else "") + figure(it) for it in (min(known), max(known)))
    return low if low == high else f"{low} to {high}"
