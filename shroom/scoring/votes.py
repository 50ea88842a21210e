"""The annotators' votes in gold files as arrays, with the rows, and figures of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems, ShroomError, printable, show
from shroom.metrics.agreement import MISSING, Votes, bootstrap_votes
from shroom.metrics.base import Metric
from shroom.metrics.intervals import Intervals, interval
from shroom.scoring.column_checks import check_doubled, check_votes
from shroom.scoring.editions.edition import Annotation, Edition
from shroom.scoring.editions.files import resolve
from shroom.scoring.file_choice import latest, name_by_rows
from shroom.scoring.file_names import Name
from shroom.scoring.in_memory import Data, as_source
from shroom.scoring.input_files import Document, documents_among_others
from shroom.scoring.kinds.binary import read_votes as read_votes_of
from shroom.scoring.row_reader import Reader
from shroom.scoring.rows import P, Role, Rows
from shroom.scoring.tables import Estimate


@dataclass(eq=False)
class Voted:
    """One gold file with the votes of its annotators."""

    file: str
    name: Name
    gold: Rows
    #: 1, 0, or -1 for no vote; a column is an annotator, or a place in the lists of ``labels``.
    votes: Votes

    @property
    def judged(self) -> NDArray[np.intp]:
        """The rows that have a vote."""
        return np.flatnonzero((self.votes != MISSING).any(axis=1))


def read_votes(
    source: Data, edition: Edition | Source | None = None
) -> tuple[list[Voted], list[str]]:
    """Return the gold files that have votes, in the order of their names, and the warnings."""
    # Files are chosen as for scoring; other files with votes are used as well.
    problems, warnings, files = Problems(), list[str](), list[Voted]()
    source = as_source(source, "gold")
    edition, _ = resolve(edition, source)
    listed = documents_among_others(source, problems, edition)
    members = [document for document in listed if document.member]
    chosen = latest(members, problems, edition, Role.GOLD).values()
    for document in listed:
        is_other = document.member and edition.parse(document.base, Role.GOLD) is None
        if document.member and not is_other and document not in chosen:
            continue  # an earlier version
        document_problems = Problems() if is_other else problems
        voted = _read(document, document_problems, edition)
        if voted is not None and not document_problems.errors:
            files.append(voted)
            n, left_out = voted.gold.n, voted.gold.n - len(voted.judged)
            if left_out:
                warnings.append(f"{document.file}: {left_out} of {n} items ignored (no labels)")
            problems.extend(check_votes(voted.gold))
        else:
            why = "it cannot be read as gold" if document_problems.errors else "no item has labels"
            warnings.append(f"{document.file}: ignored, because {why}")
    if problems.errors:
        raise InvalidInput(problems)
    if not files:
        raise ShroomError(
            f"{printable(str(source))}: no item has the annotators' votes (a list in the key "
            '"labels"), so agreement cannot be measured; use a labelled split, such as val'
        )
    return files, [*(problem.sentence for problem in problems), *map(printable, warnings)]


def _read(document: Document, problems: Problems, edition: Edition) -> Voted | None:
    """Return the rows and votes of a file; ``None`` without votes, or if it cannot be read."""
    own = document.read_own(problems, edition)
    items = None if own is None else document.items(problems, edition.item)
    if items is None:
        return None
    rows = [*edition.with_own_keys(items)]
    words = [*edition.file_labels.values()]
    cast = [row.get("labels") if isinstance(row, dict) else None for row in rows]
    read = [read_votes_of(value, words) for value in cast]
    key = edition.item.key("labels")
    for index, (_, faults) in enumerate(read):
        for code, expected, value, *_ in faults:
            found = show(items[index].get(key, value))
            problems.add(code, document.file, expected, found, index=index, key=key)
    votes = by_annotator(map(named, cast))[1]
    if not (votes != MISSING).any():
        return None
    if edition.annotation.kind != "binary":
        edition = replace(edition, annotation=Annotation())
    gold = Reader(Role.GOLD, document.file, problems, edition).read(items)
    problems.extend(check_doubled(gold))
    if not gold.labelled and not problems.errors:
        expected = f'"label" and "{P}"'
        problems.add("gold-unlabelled", document.file, expected, "rows without labels")
    name = edition.guess(document.base) or name_by_rows(gold, edition)
    return Voted(document.base, name, gold, votes)


def named(value: Any) -> dict[Any, int]:
    """Return the votes in a row's ``labels`` by annotator, or by the place in a list."""
    return dict(zip(value if isinstance(value, dict) else count(1), read_votes_of(value)[0]))


def by_annotator(rows: Iterable[Mapping[Any, int]]) -> tuple[list[str], Votes]:
    """Return the annotators of rows of votes, and a column of votes for each."""
    rows = [*rows]
    names = sorted({*chain(*rows)}, key=lambda name: (isinstance(name, str), name))
    votes = [[row.get(name, MISSING) for name in names] for row in rows]
    titles = [name if isinstance(name, str) else f"position {name}" for name in names]
    return titles, np.array(votes, np.int8).reshape(len(rows), -1)


def estimated(
    figures: Mapping[str, Metric], votes: Votes, intervals: Intervals
) -> dict[str, Estimate]:
    """Return figures of votes with intervals; items are resampled, not votes."""
    settings = replace(intervals, method="percentile")
    drawn = bootstrap_votes(figures, votes, intervals.resamples, intervals.seed)
    estimates = {}
    for name, figure in figures.items():
        value = figure(votes)
        ci = interval(figure, votes, value, drawn[name], settings) if intervals.resamples else None
        estimates[name] = Estimate(value, ci)
    return estimates
