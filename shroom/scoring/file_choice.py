"""The files of a submission or of gold that are used: one for each split and track."""

from __future__ import annotations

from shroom.core.problems import Problems, show
from shroom.scoring.file_names import Name
from shroom.scoring.input_files import Document


def well_named(
    documents: list[Document], problems: Problems, splits: tuple[str, ...] = ()
) -> list[Document]:
    """Return the documents of a submission whose names are right, reporting the others.

    A file that is named directly may have any name; the name of a member of a folder or a zip must
    have its split and track, and no other member may have the same.

    Parameters
    ----------
    documents : list of Document
        All documents of a submission.
    problems : Problems
        Gets ``file-name`` and ``file-twice``.
    splits : tuple of str
        The splits that are wanted; val and test by default.
    """
    splits = splits or ("val", "test")
    split = splits[0] if len(splits) == 1 else "{" + ",".join(splits) + "}"
    expected_name = f"a name like {split}.model-{{agnostic,aware}}.json"
    first: dict[tuple[str, str], str] = {}
    chosen = []
    for document in documents:
        name = Name.parse(document.base)
        if not document.member:
            chosen.append(document)
        elif name is None or name.split not in splits:
            problems.add("file-name", document.file, expected_name, show(document.base))
        elif name.key in first:
            other = first[name.key]
            expected = f"one file for the {name.track} track"
            problems.add("file-twice", document.file, expected, f"another beside {other}")
        else:
            first[name.key] = document.file
            chosen.append(document)
    return chosen


def latest(documents: list[Document], problems: Problems) -> dict[tuple[str, str], Document]:
    """Return the latest version for each split and track among well-named documents.

    Two files of one version are reported as ``file-twice``, since either may be meant.
    """
    best: dict[tuple[str, str], tuple[int, Document]] = {}
    for document in documents:
        name = Name.parse(document.base)
        if name is None:
            continue
        version, before = best.get(name.key, (0, document))
        if name.version == version:
            expected = f"one file of {document.base}"
            problems.add("file-twice", document.file, expected, f"another beside {before.file}")
        elif name.version > version:
            best[name.key] = name.version, document
    return {key: document for key, (_, document) in best.items()}
