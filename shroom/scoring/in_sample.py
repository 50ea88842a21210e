"""In-sample items: items that the detector was fitted on, by the record of its run."""

# ``shroom predict`` writes the record, ``run.json``, next to the files of a submission.

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from shroom.core.paths import RUN_RECORD, Source
from shroom.core.problems import Problems, ShroomError, show
from shroom.scoring.align import Pair
from shroom.scoring.editions.edition import Edition
from shroom.scoring.in_memory import InMemory
from shroom.scoring.input_files import Document, documents

#: The key of the counts, in a record as in results.
KEY = "in_sample"


def with_in_sample(
    tracks: Iterable[Pair],
    submission: Source,
    listed: Iterable[Document],
    problems: Problems,
    edition: Edition,
) -> list[Pair]:
    """Return tracks with the number of in-sample items of each."""
    marked = []
    by_file = in_sample_items(submission, listed, problems, edition)
    for track in tracks:
        file, n = track.predictions.file, track.predictions.n
        count = min(n, by_file.get(file, 0))
        marked.append(replace(track, in_sample=count))
        if count:
            found = f"{count} of {n} items that the detector was fitted on"
            problems.add("in-sample", file, "items that the detector has not seen", found)
    return marked


def refuse(tracks: Iterable[Pair], what: str, way_out: str = "") -> None:
    """Raise :class:`ShroomError` if ``what`` would be fitted on in-sample predictions."""
    for track in tracks:
        if track.in_sample:
            raise ShroomError(
                f"{track.predictions.file}: the detector was fitted on {track.in_sample} of these "
                f"{track.predictions.n} items, so {what} fitted on these predictions would make "
                "the detector look too good; use out-of-fold predictions or another "
                f"split{way_out}"
            )


def in_sample_items(
    submission: Source, listed: Iterable[Document], problems: Problems, edition: Edition
) -> dict[str, int]:
    """Return the number of in-sample items by file, from the records next to the files."""
    # A record may name the data's version: ``val.model-aware.v2.json``.
    if isinstance(submission, InMemory):
        return {file.file: n for file in listed if (n := submission.in_sample.get(file.base))}
    named = [(document, name) for document in listed if (name := edition.parse(document.base))]
    counts: dict[tuple[str, str, str], int] = {}
    for record in _records(submission, [document for document, _ in named], edition):
        for file, count in _counts(record, problems).items():
            if name := edition.parse(file):
                counts[(_folder(record), *name.key)] = count
    found = {document.file: counts.get((_folder(document), *name.key)) for document, name in named}
    return {file: count for file, count in found.items() if count}


def _folder(document: Document) -> str:
    """Return the folder of a document; for a member of a zip, inside the zip."""
    if isinstance(document.content, Path):
        return str(document.content.parent)
    return str(PurePosixPath(document.file).parent)


def _records(
    submission: Source, listed: Iterable[Document], edition: Edition
) -> Iterator[Document]:
    """Yield the records next to the files of a submission, or in its zip."""
    on_disk = {_folder(document) for document in listed if isinstance(document.content, Path)}
    paths = (Path(folder, RUN_RECORD) for folder in sorted(on_disk))
    yield from (Document(str(path), RUN_RECORD, path) for path in paths if path.is_file())
    if not on_disk and Path(submission).is_file():  # what is wrong with the zip was reported
        members = documents(submission, Problems(), edition, junk=True, endings=(RUN_RECORD,))
        yield from (member for member in members if member.base == RUN_RECORD)


def _counts(record: Document, problems: Problems) -> dict[str, int]:
    """Return the counts of a record by file; report a malformed record."""
    place, data = record.file, record.read(Problems())
    try:
        values = {} if data is None else json.loads(data)
    except (ValueError, RecursionError) as error:
        problems.add("run-record", place, "the record of a run", f"invalid JSON: {error}")
        return {}
    counts = values.get(KEY, {}) if isinstance(values, dict) else {}
    if isinstance(counts, dict) and all(type(n) is int and n >= 0 for n in counts.values()):
        return counts
    expected = "the number of items for each file"
    problems.add("run-record", place, expected, show(counts), key=KEY)
    return {}
