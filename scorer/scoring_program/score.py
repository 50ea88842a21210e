#!/usr/bin/env python3
"""The scoring program that Codabench and CodaLab run; it needs only Python 3.9 and numpy.

    python3 score.py INPUT OUTPUT [--blind]
    python3 score.py SUBMISSION_DIR REFERENCE_DIR OUTPUT_FILE [--is_val]
    python3 score.py --check SUBMISSION [DATA]

The platforms use the first form: INPUT/res contains the submission and INPUT/ref contains the gold.
The program writes detailed_results.html, scores.txt and scores.json to OUTPUT, in this order. With
--blind, these files contain the worst score of every column, and hidden_scores.json contains the
true scores. The second form is the command line of the organisers' 2024 program. The third form
reports what is wrong with a submission. In a bundle, the kit's modules and edition.json are in the
folder of this file. Exit codes: 0: scored, or valid; 1: the submission or the gold is wrong, and no
scores are written; 2: the command line is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
from html import escape
from pathlib import Path

if sys.version_info < (3, 9):  # noqa: UP036 - the image may have an older Python
    sys.exit("score.py needs Python 3.9 or later; use another docker_image")

sys.path.insert(0, str(Path(__file__).resolve().parent))

from shroom.core.atomic_writing import write_atomically
from shroom.core.printing import counted
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.scoring.check import check_documents
from shroom.scoring.display.html import document, problems_page, scores_page
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import default
from shroom.scoring.editions.plain import from_plain
from shroom.scoring.input_files import documents
from shroom.scoring.platforms import (
    as_yaml,
    check_folder,
    missing_tracks,
    platform_scores,
    score_without_labels,
    without_labels,
    without_options,
    without_values,
    worst_scores,
)
from shroom.scoring.results import Score
from shroom.scoring.scores import score_checked

#: The message of a blind phase.
ACCEPTED = (
    "Accepted. The scores are shown after the end of this phase. "
    "Until then, the leaderboard shows the worst score for every submission.\n"
)


def main(arguments: list[str]) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="score.py", usage=__doc__)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--is_val", action="store_true")
    parser.add_argument("--blind", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    if options.check and len(options.paths) <= 2:
        return check(*options.paths)
    if len(options.paths) == 2 and not options.is_val:
        source, output = options.paths
        return run(source / "res", source / "ref", folder=output, blind=options.blind)
    if len(options.paths) == 3 and not options.blind:
        submission, gold, output = options.paths
        return run(submission, gold, file=output, splits=("val",) if options.is_val else ("test",))
    return parser.error(
        "expected INPUT and OUTPUT, or three paths, or --check with one or two paths"
    )


def run(
    submission: Path,
    gold: Path,
    *,
    folder: Path | None = None,
    file: Path | None = None,
    splits: tuple[str, ...] = (),
    blind: bool = False,
) -> int:
    """Score a submission into a folder, as for the platforms, or into a single file."""
    page = folder / "detailed_results.html" if folder else None
    result = None
    try:
        result = scored(submission, gold, splits)
        values = platform_scores(result)
    except InvalidInput as error:
        problems = error.problems.replaced(lambda problem: without_values(problem, gold))
        return refuse(without_labels(problems, unlabelled(submission)) if blind else problems, page)
    except MemoryError:
        pass  # leaving this block frees the memory
    if result is None:
        problems = Problems()
        problems.add("too-large", "the submission", "files that fit into memory", "larger files")
        return refuse(problems, page)
    warnings = without_labels(Problems(), unlabelled(submission)) if blind else result.warnings
    report(*map(str, (*warnings, *missing_tracks(result, gold))))
    if folder and blind:
        # Codabench shows scores.json to participants in every phase. It ranks a submission without
        # scores first, and still lists it after a rerun.
        write_atomically(folder / "hidden_scores.json", json.dumps(values) + "\n")
        values = worst_scores(result.edition)
    text = as_yaml(values)
    print(text if not blind else ACCEPTED, end="", flush=True)
    if page:
        write_atomically(page, accepted_page(result) if blind else scores_page(result))
    if folder:
        write_atomically(folder / "scores.txt", text)
        write_atomically(folder / "scores.json", json.dumps(values) + "\n")
    if file:
        write_atomically(file, text)
    return 0


def check(submission: Path, data: Path | None = None) -> int:
    """Report what is wrong with a submission, for participants; return the exit code."""
    problems = unlabelled(submission, data)
    report(*problems.lines())
    print("not valid" if problems.errors else "valid")
    return 1 if problems.errors else 0


def unlabelled(submission: Path, data: Path | None = None) -> Problems:
    """Return what is wrong with a submission, without using gold."""
    edition, problems = edition_of_bundle(), Problems()
    listed = documents(submission, problems, edition, submission=True)
    return check_documents(listed, data=data, problems=problems, edition=edition).problems


def scored(submission: Path, gold: Path, splits: tuple[str, ...]) -> Score:
    """Return the scores that participants may see."""
    edition = edition_of_bundle()
    check_folder(submission, gold)
    problems = Problems()
    # Not check(), because a participant's run.json must not matter here.
    listed = documents(submission, problems, edition, submission=True)
    if splits == ("test",):
        for document in listed:
            name = edition.parse(document.base)
            if name is not None and name.split == "val":
                raise ShroomError(f"{document.file} is for the val split; add --is_val to score it")
    checked = check_documents(listed, gold, splits=splits, problems=problems, edition=edition)
    return score_without_labels(score_checked(checked), gold)


def edition_of_bundle() -> Edition:
    """Return the edition in the folder of this file; without one, that of SHROOM 2024."""
    path = Path(__file__).with_name("edition.json")
    return from_plain(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else default()


def accepted_page(result: Score) -> str:
    """Return the page of a submission in a blind phase."""
    rows = "".join(
        f"<li>{escape(f'{track.split} {track.track}'.strip())}: {counted(track.n, 'item')}</li>"
        for track in result.results
    )
    text = f"<p>{ACCEPTED}</p><ul>{rows}</ul>"
    return document(
        "SHROOM: Accepted", f"<header><h1>Accepted</h1></header>\n<main>\n{text}</main>"
    )


def refuse(problems: Problems, page: Path | None) -> int:
    """Write every problem to stderr, and to the page if there is one."""
    report(*problems.lines())
    if page:
        write_atomically(page, without_options(problems_page(problems)))
    return 1


def report(*lines: str) -> None:
    """Write lines to stderr."""
    for line in lines:
        print(without_options(line), file=sys.stderr)


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    try:
        sys.exit(main(sys.argv[1:]))
    except (ShroomError, OSError) as error:
        sys.exit(f"score.py: {error}")
    except KeyboardInterrupt:
        sys.exit("score.py: interrupted")
