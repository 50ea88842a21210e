"""The check of a gold: errors, warnings, and the smallest detectable difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from shroom.core.paths import Source
from shroom.core.printing import counted
from shroom.core.problem_codes import ERROR
from shroom.core.problems import Problems, ShroomError, show
from shroom.evaluation.gold_quality.findings import PLACES, Finding, of_rows
from shroom.evaluation.gold_quality.item_checks import answer, findings
from shroom.evaluation.gold_quality.power import detectable
from shroom.evaluation.gold_quality.results import FileQuality, GoldQuality
from shroom.evaluation.gold_quality.rows import GoldFile, annotation_keys, read_gold
from shroom.evaluation.gold_quality.sharing import Shared, can_look_for_near, shared
from shroom.evaluation.gold_quality.votes import are_of_people, named_votes
from shroom.metrics.intervals import Intervals
from shroom.metrics.leave_one_out import LeftOut, left_out, usual_correlation
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import file_beside, resolve
from shroom.scoring.rows import TEXTS

#: The findings about items of another split, with their kinds and sentences.
_SHARED = {
    "shared": ("exact", "with the same output and reference as an item in"),
    "shared-near": ("near", "with nearly the same output and reference as an item in"),
    "shared-input": ("inputs", "with the same input as an item in"),
}


def gold_quality(
    gold: Source,
    *,
    edition: Edition | Source | None = None,
    against: Sequence[Source] = (),
    intervals: Intervals | None = None,
) -> GoldQuality:
    """Return the errors of a gold, and the smallest detectable difference between systems.

    Parameters
    ----------
    gold : path or "-"
        A file, a folder, a zip or a pipe. Several files are compared with each other. If labels
        are in separate files, the texts are taken from the data next to them.
    edition : Edition, str or path, optional
        The shared task; by default the ``edition.toml`` next to the gold, otherwise the edition or
        data set recognised by the rows of each file.
    against : sequence of path
        Other splits that are searched for the items of the gold.
    intervals : Intervals, optional
        Settings of the annotators' intervals, which are percentile intervals.

    Raises
    ------
    InvalidInput
        If a file cannot be read; the exception contains all problems.
    ShroomError
        If nothing in the gold is annotated.

    Examples
    --------
    >>> quality = gold_quality("shroom/sample/val.model-aware.json")
    >>> [finding.code for finding in quality.files[0].findings], quality.errors
    ([], 0)
    >>> [(one.metric, round(one.difference, 3)) for one in quality.files[0].detectable]
    [('accuracy', 0.188), ('rho', 0.193)]
    """
    settings = intervals or Intervals()
    problems, chosen = Problems(), None
    if edition is not None or file_beside(gold) is not None:
        chosen, _ = resolve(edition, gold)
    files = read_gold(gold, chosen, problems)
    if not any(file.is_annotated for file in files):
        own = files[0].edition
        keys = ", ".join(map(own.item.key, annotation_keys(own)))
        found = show([*next(iter(own.with_file_keys(files[0].rows)))], width=200)
        raise ShroomError(
            f"{gold}: no item is annotated (keys {keys}), so there is nothing to check; got keys "
            f"{found}; specify labelled files, or set [item] keys in the edition"
        )
    others = [file for source in against for file in read_gold(source, chosen, problems)]
    named = {_place(file) for file in others}
    others += [file for file in files if len(files) > 1 and _place(file) not in named]
    near = bool(others) and can_look_for_near()
    times = Counter(PurePath(place).name for place in {*map(_place, (*files, *others))})
    qualities = []
    for file in files:
        pairs, between = [], _without_units(file, files)
        for other in others:
            names = _name(file), _name(other)
            is_named = _place(other) in named
            if _place(other) == _place(file) or (not is_named and names[0] == names[1] != ("", "")):
                continue  # another version of the split and track
            # Unlabelled data next to the gold may be large, so near duplicates would take minutes.
            is_near = near and (is_named or other.is_annotated)
            title = other.name if times[other.name] == 1 else other.file
            pair = shared(file.texts, other.texts, title, near=is_near)
            is_one_split = names[0][0] == names[1][0] != ""
            if is_one_split:
                pair = replace(pair, inputs={})  # tracks may have the same inputs
            pairs.append(pair)
            between += _contradictions(file, other, pair, is_one_split=is_one_split)
        qualities.append(_of_file(file, pairs, between, settings))
    return GoldQuality(qualities, settings, near, problems)


def _place(file: GoldFile) -> str:
    return str(Path(file.file).absolute())


def _name(file: GoldFile) -> tuple[str, str]:
    """Return the split and track in a file's name, empty if it has none."""
    name = None if file.is_data_set else file.edition.guess(file.name)
    return ("", "") if name is None else name.key


def _without_units(file: GoldFile, files: Sequence[GoldFile]) -> list[Finding]:
    """Return a finding if the edition has units but neither the gold nor its data has them."""
    key = "" if file.is_data_set else file.edition.item.unit
    own = {theirs: ours for ours, theirs in file.edition.item.keys.items()}.get(key, key)
    alike = [other for other in files if _name(other) == _name(file)]
    rows = [row for other in (file, *alike) for row in other.rows]
    if not key or not file.is_annotated or any(row.get(own) is not None for row in rows):
        return []
    items = counted(len(file.rows), "item")
    about = f'{items} without "{key}", so the intervals assume that items are independent'
    return [Finding("unit-missing", len(file.rows), about)]


def _contradictions(
    file: GoldFile, other: GoldFile, shared: Shared, *, is_one_split: bool
) -> Iterator[Finding]:
    """Yield contradictions with another file: answers to the same item, and ids."""
    if file.is_annotated and other.is_annotated and file.edition.name == other.edition.name:
        odd = [
            own
            for own, there in shared.exact.items()
            if answer(file.rows[own], file) != answer(other.rows[there], other)
        ]
        about = f"{{}} with a different annotation in {shared.file}"
        yield from of_rows(file, "shared-answer", odd, about)
    if is_one_split:
        odd = [own for own, there in shared.exact.items() if file.ids[own] != other.ids[there]]
        yield from of_rows(file, "shared-id", odd, f"{{}} with a different id in {shared.file}")
    if file.edition.item.id == "string":
        theirs = dict(zip(other.ids, other.rows))
        odd = [
            place
            for place, (id_, row) in enumerate(zip(file.ids, file.rows))
            if id_ is not None and _differs(row, theirs.get(id_, {}))
        ]
        yield from of_rows(
            file, "shared-id", odd, f"{{}} with an id that belongs to another item in {shared.file}"
        )


def _differs(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return any(row[key] != other[key] for key in TEXTS if key in row and key in other)


def _of_file(
    file: GoldFile, pairs: list[Shared], between: list[Finding], settings: Intervals
) -> FileQuality:
    votes = named_votes(file) if file.is_annotated else None
    are_people = votes is not None and are_of_people(file)
    annotators = list[LeftOut]()
    if votes is not None:
        annotators = left_out(votes, settings.resamples, settings.seed, settings.confidence)
    listed = [
        *findings(file),
        *(finding for pair in pairs for finding in _of_shared(file, pair)),
        *between,
        *(_of_annotators(annotators) if are_people else ()),
    ]
    return FileQuality(
        file=file.name,
        form=file.edition.name,
        kind=file.kind,
        n=len(file.rows),
        annotated=file.is_annotated,
        left_out=file.left_out,
        texts_of=file.texts_of,
        units=None if file.units is None else len(set(file.units)),
        findings=sorted(listed, key=lambda finding: finding.severity != ERROR),
        shared=pairs,
        annotators=annotators,
        are_people=are_people,
        detectable=detectable(file) if file.is_annotated else [],
    )


def _of_shared(file: GoldFile, other: Shared) -> Iterator[Finding]:
    for code, (name, about) in _SHARED.items():
        yield from of_rows(
            file, code, [*(getattr(other, name) or ())], f"{{}} {about} {other.file}"
        )


def _of_annotators(annotators: Sequence[LeftOut]) -> Iterator[Finding]:
    usual = usual_correlation(annotators)
    constant = [one.name for one in annotators if one.is_constant]
    random = [one.name for one in annotators if one.is_random(usual) and not one.is_constant]
    for code, names, about in (
        (
            "annotator-constant",
            constant,
            "who gave nearly all items the same vote, unlike the others",
        ),
        ("annotator-random", random, "whose votes cannot be distinguished from random votes"),
    ):
        if names:
            sentence = f"{counted(len(names), 'annotator')} {about}"
            yield Finding(code, len(names), sentence, tuple(names[:PLACES]))
