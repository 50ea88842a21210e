"""Building the competition bundle; its scoring program is a copy of the kit's modules."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from shroom.bundle.checking import check
from shroom.bundle.competition import columns, dated, metrics_of, phases_of
from shroom.bundle.public_files import Documents, Files, public_files, written
from shroom.bundle.templates import pages, rendered, scorer_folder
from shroom.bundle.trial_run import try_program
from shroom.bundle.yaml_reading import FILE
from shroom.core.atomic_writing import write_atomically, zipped
from shroom.core.extras import require
from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.core.version import __version__
from shroom.scoring.check import check_documents
from shroom.scoring.column_checks import check_doubled, check_votes
from shroom.scoring.editions.competition import Phase
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import resolve
from shroom.scoring.editions.plain import to_plain
from shroom.scoring.file_choice import latest
from shroom.scoring.input_files import Document, documents_among_others
from shroom.scoring.metric_registry import METRICS
from shroom.scoring.platforms import worst_scores
from shroom.scoring.row_reader import read_rows
from shroom.scoring.rows import Role

#: The packages that scoring needs; they import only numpy, and no others are copied.
PACKAGES = ("core", "metrics", "scoring")
#: A function from public data to predictions; both are contents of files by name.
Predict = Callable[[Mapping[str, bytes]], Mapping[str, bytes]]
Content = Mapping[str, str | bytes]
_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)+")


def build(
    gold: Source,
    start: dt.date | None = None,
    problems: Problems | None = None,
    *,
    edition: Edition | Source | None = None,
    data: Source | None = None,
    folder: Source = ".",
    predict: Predict | None = None,
) -> dict[str, bytes]:
    """Return ``codabench.zip`` and ``scoring_program.zip``; equal inputs give equal bytes.

    Parameters
    ----------
    gold : path
        Labelled data.
    start : date, optional
        Start of the first phase; by default, the start in the edition, or else today.
    problems : Problems, optional
        Collects warnings, for example about splits without gold.
    edition : Edition, name or path, optional
        The shared task; by default, the ``edition.toml`` next to the gold.
    data : path, optional
        Unlabelled data for participants; by default, the gold without its labels.
    folder : path
        Folder of the edition's pages.
    predict : callable, optional
        Function that makes the predictions of the starting kit.

    Raises
    ------
    ShroomError
        If the gold, the data or the edition is wrong, if Codabench would reject the bundle, or if
        its scoring program does not score the sample submission.
    """
    require("bundle", "jinja2", "jsonschema", "pyyaml")
    problems = Problems() if problems is None else problems
    edition, _ = resolve(edition, gold)
    _refuse_own_metrics(edition)
    references = _labelled(gold, problems, edition)
    listed = phases_of(edition, {split for split, _ in references})
    for phase in edition.phases:
        if phase not in listed:
            expected = f"gold for the phase {phase.name}"
            problems.add("gold-skipped", str(gold), expected, "none; this phase is left out")
    splits = list(dict.fromkeys(phase.split for phase in listed))
    references = {place: file for place, file in references.items() if place[0] in splits}
    documents = references if data is None else _unlabelled(data, references, problems, edition)
    public, sample = public_files(documents, edition, problems, is_gold=data is None)
    _check_sample(sample, gold, edition)
    values = {
        "columns": columns(edition, {track for _, track in references}),
        "data": public,
        "edition": edition,
        "email": edition.contact if _EMAIL.fullmatch(edition.contact) else "",
        "keys": dict.fromkeys(
            key for own in public.values() for rows in own.values() for row in rows for key in row
        ),
        "metrics": metrics_of(edition),
        "phases": dated(listed, start, dt.date.today()),
        "program_of": _program_of,
        "sample": sample,
        "version": __version__,
    }
    about = pages(Path(folder), values)
    program = _program_files(edition)
    files = {
        **_references(references, gold if data is None else data, edition),
        **{_program_of(phase): _program(program, blind=phase.blind) for phase in listed},
        **{f"public_data_{split}.zip": zipped(written(public[split])) for split in splits},
        "starting_kit.zip": _starting_kit(values, program, splits, predict),
        "logo.png": (scorer_folder() / "logo.png").read_bytes(),
        **dict(about.values()),
    }
    for split, name in dict.fromkeys((phase.split, _program_of(phase)) for phase in listed):
        reference, submission = files[f"reference_data_{split}.zip"], zipped(written(sample[split]))
        try_program(files[name], reference, submission, worst_scores(edition))
    values["pages"] = {title: file for title, (file, _) in about.items()}
    bundle = zipped({**files, FILE: rendered(FILE, values)})
    if refused := check(bundle, "codabench.zip").refused:
        raise ShroomError("\n".join(refused))
    return {"codabench.zip": bundle, "scoring_program.zip": _program(program)}


def write(files: Mapping[str, bytes], out: Source) -> None:
    for name, data in files.items():
        write_atomically(Path(out) / name, data)


def _refuse_own_metrics(edition: Edition) -> None:
    """Refuse metrics of other packages, which the scoring program does not contain."""
    for name in (*edition.metrics, *(column.metric for column in edition.columns)):
        entry = METRICS.get(name)
        if entry is not None and not entry.where.startswith("shroom."):
            raise ShroomError(
                f"metrics: '{name}' is defined in {entry.where}, but the scoring program contains "
                "only the kit's metrics. On the platform, use one of the metrics that 'shroom list "
                "metrics' shows. To rank by your own metric, download the submissions and run "
                "'shroom leaderboard'"
            )


def _documents(source: Source, role: Role, problems: Problems, edition: Edition) -> Documents:
    return latest(documents_among_others(source, problems, edition), problems, edition, role)


def _labelled(gold: Source, problems: Problems, edition: Edition) -> Documents:
    """Return the labelled files of a gold, in the order of the edition."""
    listed = _documents(gold, Role.GOLD, problems, edition)
    files = {}
    for place in product(edition.submitted, edition.track_names):
        document = listed.get(place)
        table = read_rows(document, Role.GOLD, problems, edition) if document else None
        if document and table is not None and table.labelled:
            problems.extend(check_doubled(table))
            problems.extend(check_votes(table))
            files[place] = document
        elif document is None or table is not None:
            expected = f"gold for {edition.name_of(*place)}"
            got = f"rows without labels in {document.base}" if document else "none"
            problems.add("gold-skipped", str(gold), expected, got)
    if problems.errors:
        raise InvalidInput(problems)
    if not files:
        pattern = edition.expected_name(edition.submitted, "gold")
        raise ShroomError(f"{gold} contains no labelled file named {pattern}")
    return files


def _unlabelled(data: Source, gold: Documents, problems: Problems, edition: Edition) -> Documents:
    listed = _documents(data, Role.DATA, problems, edition)
    if problems.errors:
        raise InvalidInput(problems)
    for place in gold:
        if place not in listed:
            wanted = edition.name_of(*place)
            raise ShroomError(
                f"{data} contains no data for {wanted}; add the data, or remove the corresponding "
                "gold"
            )
    return {place: listed[place] for place in gold}


def _check_sample(sample: Files, gold: Source, edition: Edition) -> None:
    """Raise :class:`InvalidInput` if the items of the public data differ from the gold's."""
    for files in sample.values():
        documents = [
            Document(f"the public data, {name}", name, content, member=True)
            for name, content in written(files).items()
        ]
        check_documents(documents, gold, problems=Problems(), edition=edition).raise_for_errors()


def _starting_kit(
    values: Mapping[str, Any], program: Content, splits: list[str], predict: Predict | None
) -> bytes:
    data = {name: rows for split in splits for name, rows in values["data"][split].items()}
    predictions = predict(written(data)) if predict else {}
    return zipped(
        {
            "README.md": re.sub("</?code>", "`", rendered("starting_kit.md", values)),
            "edition.json": program["edition.json"],
            "sample_submission.zip": zipped(written(values["sample"][splits[0]])),
            **{f"kit/{name}": content for name, content in program.items()},
            **{f"predictions/{name}": content for name, content in predictions.items()},
        }
    )


def _references(gold: Documents, data: Source, edition: Edition) -> dict[str, bytes]:
    """Return the gold of each split, and the data if it may contain the units of rows."""
    has_units = edition.item.unit and edition.files.data
    beside = _documents(data, Role.DATA, Problems(), edition) if has_units else {}
    by_split: dict[str, dict[str, bytes]] = {split: {} for split, _ in gold}
    for (split, _), document in (*beside.items(), *gold.items()):
        if split in by_split:
            base = document.base.removesuffix(".gz")
            by_split[split][base] = document.read(Problems()) or b""
    return {f"reference_data_{split}.zip": zipped(files) for split, files in by_split.items()}


def _program_of(phase: Phase) -> str:
    return "scoring_program_blind.zip" if phase.blind else "scoring_program.zip"


def _program(files: Content, *, blind: bool = False) -> bytes:
    metadata = (
        f"command: python3 $program/score.py $input $output{' --blind' if blind else ''}\n"
        "description: Scores a submission with the SHROOM kit.\n"
    )
    return zipped({**files, "metadata": metadata, "metadata.yaml": metadata})


def _program_files(edition: Edition) -> Content:
    package = Path(__file__).parents[1]
    modules = [package / "__init__.py"]
    for name in PACKAGES:
        files = sorted((package / name).rglob("*"))
        modules += [path for path in files if path.suffix in (".py", ".css")]
    return {
        "score.py": (scorer_folder() / "scoring_program" / "score.py").read_bytes(),
        "edition.json": json.dumps(to_plain(edition), indent=1, ensure_ascii=False) + "\n",
        **{path.relative_to(package.parent).as_posix(): path.read_bytes() for path in modules},
    }
