"""The number of items of a submission that its detector was fitted on, by the record of the run.

`shroom predict` leaves the record, ``run.json``, beside the files of a submission. Predictions of
items that the detector was fitted on look better than those of others, so figures are marked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath

from shroom.core.archives import DAMAGES, is_absurd
from shroom.core.paths import RUN_RECORD, Source
from shroom.core.problems import Problems, ShroomError, show
from shroom.scoring.align import Track
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import default
from shroom.scoring.in_memory import InMemory
from shroom.scoring.input_files import Document

#: The key of the counts, in a record as in results.
KEY = "in_sample"


def with_in_sample(
    tracks: Iterable[Track],
    submission: Source,
    documents: Iterable[Document],
    problems: Problems,
    edition: Edition | None = None,
) -> list[Track]:
    """Return tracks with the number of in-sample items of each.

    Parameters
    ----------
    tracks : iterable of Track
        The predictions of the submission.
    submission : path or "-"
        The source that the user named.
    documents : iterable of Document
        The documents in it.
    problems : Problems
        Gets ``in-sample`` where there are such items, and ``run-record`` where a record cannot be
        read.
    edition : Edition, optional
        The edition whose file names they have; ``semeval2024`` by default.
    """
    marked = []
    by_file = in_sample_items(submission, documents, problems, edition)
    for track in tracks:
        file, n = track.predictions.file, track.predictions.n
        count = min(n, by_file.get(file, 0))
        marked.append(replace(track, in_sample=count))
        if count:
            expected = "items that the detector was not fitted on"
            problems.add("in-sample", file, expected, f"{count} of {n} that it was")
    return marked


def refuse(tracks: Iterable[Track], what: str, way_out: str = "") -> None:
    """Raise :class:`ShroomError` where something would be fitted on in-sample predictions.

    Parameters
    ----------
    tracks : iterable of Track
        The tracks that it would be fitted on.
    what : str
        The thing that would be fitted, such as ``a calibrator``.
    way_out : str
        Another way out for the user.
    """
    for track in tracks:
        if track.in_sample:
            raise ShroomError(
                f"{track.predictions.file}: its detector was fitted on {track.in_sample} of these "
                f"{track.predictions.n} items, so {what} fitted on them would trust it too much on "
                f"others; use predictions out of fold, or another split{way_out}"
            )


def in_sample_items(
    submission: Source,
    listed: Iterable[Document],
    problems: Problems,
    edition: Edition | None = None,
) -> dict[str, int]:
    """Return the number of in-sample items by file, for files that have any.

    A record counts for the files beside it, in a folder or in a zip, whose names are those that a
    submission has: it may name the data's version, ``val.model-aware.v2.json``.

    Parameters
    ----------
    submission, listed, problems, edition
        As for :func:`with_in_sample`; ``problems`` gets ``run-record``.

    Examples
    --------
    >>> import tempfile
    >>> from shroom.scoring.input_files import documents
    >>> from shroom.core.problems import Problems
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     record = '{"in_sample": {"val.model-aware.v2.json": 501}}'
    ...     _ = Path(folder, "run.json").write_text(record)
    ...     _ = Path(folder, "val.model-aware.json").write_text("[]")
    ...     items = in_sample_items(folder, documents(folder, Problems()), Problems())
    >>> list(items.values())
    [501]
    """
    if isinstance(submission, InMemory):
        return {file.file: n for file in listed if (n := submission.in_sample.get(file.base))}
    edition = edition or default()
    named = [(document, name) for document in listed if (name := edition.parse(document.base))]
    files = {(_folder(document), name.key): document.file for document, name in named}
    counts = {
        (folder, key): count
        for folder, place, data in _records(submission, [document for document, _ in named])
        for key, count in _counts(data, place, problems, edition).items()
    }
    return {file: counts[key] for key, file in files.items() if counts.get(key)}


def _folder(document: Document) -> str:
    """Return the folder of a document, of a member of a zip with the zip as its root."""
    if isinstance(document.content, Path):
        return str(document.content.parent)
    return str(PurePosixPath(document.file).parent)


def _records(submission: Source, documents: Iterable[Document]) -> Iterator[tuple[str, str, bytes]]:
    """Yield each record: its folder, how messages name it, and its bytes."""
    folders = {_folder(document): isinstance(document.content, Path) for document in documents}
    for folder in sorted(folder for folder, on_disk in folders.items() if on_disk):
        path = Path(folder, RUN_RECORD)
        with suppress(OSError):
            if path.is_file():
                yield folder, str(path), path.read_bytes()
    if all(folders.values()) or not Path(submission).is_file():
        return
    import zipfile

    with suppress(*DAMAGES), zipfile.ZipFile(submission) as archive:  # which have been reported
        for info in archive.infolist():
            place = PurePosixPath(f"{submission}/" + info.filename.replace("\\", "/"))
            if place.name == RUN_RECORD and not is_absurd(info.file_size, info.compress_size):
                yield str(place.parent), str(place), archive.read(info)


def _counts(
    data: bytes, place: str, problems: Problems, edition: Edition
) -> dict[tuple[str, str], int]:
    """Return a record's counts by split and track; none, with a warning, if it is malformed."""
    try:
        record = json.loads(data)
    except (ValueError, RecursionError) as error:
        problems.add("run-record", place, "the record of a run", f"not JSON: {error}")
        return {}
    counts = record.get(KEY, {}) if isinstance(record, dict) else {}
    if not isinstance(counts, dict) or any(type(n) is not int or n < 0 for n in counts.values()):
        expected = "the number of items for each file"
        problems.add("run-record", place, expected, show(counts), key=KEY)
        return {}
    return {name.key: n for file, n in counts.items() if (name := edition.parse(file))}
