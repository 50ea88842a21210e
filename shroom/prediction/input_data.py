"""Read, choose and check the data to predict."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from shroom.core.datapoint import Datapoint
from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.scoring.datapoint_files import DataFile, from_document, read_files
from shroom.scoring.editions.edition import Edition
from shroom.scoring.file_choice import latest
from shroom.scoring.in_memory import Data, as_source
from shroom.scoring.input_files import Document, documents_among_others
from shroom.scoring.rows import Role


def _check(file: DataFile, problems: Problems, edition: Edition) -> None:
    """Report each datapoint that cannot be predicted, or cannot be part of a submission."""
    seen: set[int | str | None] = set()
    have_ids = any(point.id is not None for point in file.datapoints)
    for index, point in enumerate(file.datapoints):
        place = {"index": index, "id": point.id}
        # Answers about an image have no text to compare with.
        if edition.annotation.kind == "binary" and not (point.src.strip() or point.tgt.strip()):
            problems.add("premise-missing", file.base, "src or tgt", "both empty", **place)
        if have_ids and point.id is None:
            expected = "an id, because other items have one"
            problems.add("id-missing", file.base, expected, "none", **place, key="id")
        elif have_ids and point.id in seen:
            got = f"{point.id} again"
            problems.add("id-doubled", file.base, "a unique id", got, **place, key="id")
        seen.add(point.id)


def read_data(
    data: Data, problems: Problems, splits: tuple[str, ...], edition: Edition
) -> list[DataFile]:
    """Return the files to predict: a single file, or the latest files of these splits."""
    choose = partial(_latest, splits=splits, edition=edition)
    files = read_files(data, problems, choose, edition)
    if not files:
        expected = edition.expected_name(splits, "data")
        raise ShroomError(f"{as_source(data, 'data')} contains no file named {expected}")
    for file in files:
        _check(file, problems, edition)
    if problems.errors:
        raise InvalidInput(problems)
    return files


def _latest(documents: list[Document], splits: tuple[str, ...], edition: Edition) -> list[Document]:
    """Return a single document, or the latest documents of these splits."""
    if len(documents) == 1:
        return documents
    problems = Problems()
    of_data = latest(documents, problems, edition, Role.DATA)
    named = sorted((of_data or latest(documents, problems, edition, Role.GOLD)).items())
    if problems.errors:
        raise InvalidInput(problems)
    return [document for (split, _), document in named if split in splits]


def datapoints_by_file(
    source: Source | None, files: Collection[str], edition: Edition, *, strict: bool = False
) -> dict[str, list[Datapoint]]:
    """Return the datapoints of files by name; unless ``strict``, skip files with problems."""
    found, reported = {}, Problems()  # by the check of the same source
    for document in [] if source is None else documents_among_others(source, reported, edition):
        if document.file in files:
            problems = Problems()
            file = from_document(document, problems, edition)
            if file is not None and not problems.errors:
                found[document.file] = file.datapoints
            elif strict:
                raise InvalidInput(problems)
    return found
