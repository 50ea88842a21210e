"""The competition bundle: what an organiser uploads to Codabench.

The scoring program in it is a copy of the kit's own modules, taken when the bundle is built, with
a thin ``score.py`` before them and the edition beside it. The same inputs and dates give the same
bytes.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from shroom.bundle.checking import FILE, check
from shroom.bundle.competition import BLIND, codabench, columns, program_of, with_means
from shroom.bundle.pages import formats, pages
from shroom.bundle.phases import dated, phases_of
from shroom.bundle.public_files import PublicData, written
from shroom.bundle.trial_run import try_program
from shroom.core.atomic_writing import write_atomically, zipped
from shroom.core.extras import require
from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.core.version import __version__
from shroom.scoring.check import check_documents, read_table
from shroom.scoring.column_checks import check_doubled
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import named
from shroom.scoring.editions.plain import to_plain
from shroom.scoring.file_choice import latest
from shroom.scoring.input_files import Document, documents_among_others
from shroom.scoring.kinds.registry import kind_of
from shroom.scoring.metric_registry import METRICS
from shroom.scoring.platforms import worst_scores
from shroom.scoring.table import Role

#: The packages that scoring needs, which import numpy alone; no others are copied.
PACKAGES = ("core", "metrics", "scoring")
#: What predicts public data, given as the contents of files by name: returns its files likewise.
Predict = Callable[[Mapping[str, bytes]], Mapping[str, bytes]]
_COMMENT = "# A competition for Codabench. Change what you like: title, pages, dates, limits.\n"


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
    """Return the bundle's files: the competition, and the scoring program by itself.

    Parameters
    ----------
    gold : path
        A folder or zip with the labelled splits, named as the edition says.
    start : date, optional
        When the first phase starts; by default as the edition says, else today.
    problems : Problems, optional
        Gets the warnings about the gold.
    edition : Edition, str or path, optional
        The shared task; by default the ``edition.toml`` beside the gold, else ``semeval2024``.
    data : path, optional
        The data without labels, for participants; by default those of the gold.
    folder : path
        The folder that the names of the edition's pages start from.
    predict : callable, optional
        What predicts the public data, for the starting kit.

    Returns
    -------
    dict
        ``codabench.zip`` and ``scoring_program.zip``.

    Raises
    ------
    ShroomError
        Where the gold has no labelled split, or has errors, or Codabench would refuse the bundle;
        where the built program does not score a sample submission, or a metric is not the kit's
        own; or packages of the extra ``bundle`` are missing.
    """
    require("bundle", "jsonschema", "pyyaml")
    problems = Problems() if problems is None else problems
    edition = named(edition, gold)
    _refuse_own_metrics(edition)
    references = _labelled(gold, problems, edition)
    listed = phases_of(edition, {split for split, _ in references})
    for phase in edition.phases:
        if phase not in listed:
            expected = f"gold for the phase {phase.name}"
            problems.add("gold-skipped", str(gold), expected, "none, so the bundle lacks it")
    phases = dated(listed, start, dt.date.today())
    splits = list(dict.fromkeys(phase.split for phase in listed))
    references = {place: file for place, file in references.items() if place[0] in splits}
    public = _public_data(references, data, edition, problems)
    for split in splits:
        _check_sample(public.sample(split), gold, edition)
    tracks = list(dict.fromkeys(track for _, track in references))
    first = with_means(columns(edition, tracks), edition)[0]["title"]
    about = pages(edition, scorer_folder() / "pages", Path(folder), public, splits, first)
    files = {
        **_downloads(public, splits, predict),
        **_references(references, _with_units(gold if data is None else data, edition), problems),
        **{name: _program(edition, blind=name == BLIND) for name in map(program_of, phases)},
        "logo.png": (scorer_folder() / "logo.png").read_bytes(),
        **dict(about.values()),
    }
    for split, program in dict.fromkeys((it.phase.split, program_of(it)) for it in phases):
        sample = {name: written(name, rows) for name, rows in public.sample(split).items()}
        reference = files[f"reference_data_{split}.zip"]
        command = _command(blind=program == BLIND)
        try_program(files[program], reference, sample, worst_scores(edition), command)
    titles = [(title, file) for title, (file, _) in about.items()]
    return {
        "codabench.zip": _bundle(codabench(edition, phases, titles, tracks), files),
        "scoring_program.zip": _program(edition),
    }


def _bundle(described: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
    """Return a competition as a zip."""
    import yaml

    text = _COMMENT + yaml.safe_dump(described, allow_unicode=True, sort_keys=False, width=1000)
    bundle = zipped({**files, FILE: text})
    refused = check(bundle, "codabench.zip").refused
    if refused:
        raise ShroomError("\n".join(refused))
    return bundle


def write(files: Mapping[str, bytes], out: Source) -> None:
    """Write the bundle's files into a folder."""
    for name, data in files.items():
        write_atomically(Path(out) / name, data)


def scorer_folder() -> Path:
    """Return where the bundle's templates lie: beside the package, or where pip puts data."""
    beside = Path(__file__).parents[2] / "scorer"
    installed = Path(sysconfig.get_path("data")) / "share" / "shroom-kit" / "scorer"
    for folder in (beside, installed):
        if (folder / "logo.png").is_file():
            return folder
    raise ShroomError(f"the bundle's templates are missing; expected them in {installed}")


def _refuse_own_metrics(edition: Edition) -> None:
    """Refuse metrics that are not the kit's own, which the scoring program does not have."""
    for name in (*edition.metrics, *(column.metric for column in edition.columns)):
        entry = METRICS.get(name)
        if entry is not None and not entry.where.startswith("shroom."):
            raise ShroomError(
                f"metrics: '{name}' is defined in {entry.where}, and the scoring program has only "
                "the kit's own metrics (shroom list metrics). Name one of these for the platform, "
                "and rank the submissions that you download with shroom leaderboard"
            )


def _labelled(
    gold: Source, problems: Problems, edition: Edition
) -> dict[tuple[str, str], Document]:
    """Return the labelled files of a gold by split and track, in the order of the edition."""
    found = documents_among_others(gold, problems, edition)
    listed = latest(found, problems, edition, Role.GOLD)
    files = {}
    for split in edition.submitted:
        for track in edition.track_names:
            document = listed.get((split, track))
            table = read_table(document, Role.GOLD, problems, edition) if document else None
            if document and table is not None and table.labelled:
                check_doubled(table, problems)
                kind_of(edition).check_votes(table, problems)
                files[split, track] = document
            elif document is None or table is not None:
                expected = f"gold for {edition.name_of(split, track)}, to be scored"
                got = f"rows without labels in {document.base}" if document else "none"
                problems.add("gold-skipped", str(gold), expected, got)
    if problems.errors:
        raise InvalidInput(problems)
    if not files:
        pattern = edition.expected_name(edition.submitted, "gold")
        raise ShroomError(f"{gold}: has no labelled file named {pattern}")
    return files


def _public_data(
    references: Mapping[tuple[str, str], Document],
    data: Source | None,
    edition: Edition,
    problems: Problems,
) -> PublicData:
    """Return the organiser's data without labels; where there are none, the gold's."""
    if data is None:
        return PublicData.of(references, edition, problems, stripped=True)
    found = documents_among_others(data, problems, edition)
    listed = latest(found, problems, edition, Role.DATA)
    if problems.errors:
        raise InvalidInput(problems)
    for split, track in references:
        if (split, track) not in listed:
            wanted = edition.name_of(split, track)
            raise ShroomError(f"{data}: has no data for {wanted}, of which the gold has labels")
    files = {place: listed[place] for place in references}
    return PublicData.of(files, edition, problems, stripped=False)


def _check_sample(
    sample: Mapping[str, Sequence[Mapping[str, Any]]], gold: Source, edition: Edition
) -> None:
    """Raise :class:`InvalidInput` unless made-up predictions for the public data can be scored.

    This shows where the data are not those that the gold has labels of.
    """
    problems = Problems()
    files = [
        Document(f"the public data, {name}", name, written(name, rows), member=True)
        for name, rows in sample.items()
    ]
    check_documents(files, gold, problems=problems, edition=edition).raise_for_errors()


def _downloads(
    public: PublicData, splits: Sequence[str], predict: Predict | None
) -> dict[str, bytes]:
    """Return what participants may download: the data of each split, and the starting kit."""
    by_split = {split: public.files(split) for split in splits}
    files = {name: content for own in by_split.values() for name, content in own.items()}
    predictions = predict(files) if predict else {}
    sample = {name: written(name, rows) for name, rows in public.sample(splits[0]).items()}
    contact = public.edition.contact
    readme = Template((scorer_folder() / "starting_kit.md").read_text(encoding="utf-8")).substitute(
        title=public.edition.title,
        files="\n".join(f"- `{name}`" for name in public.submissions),
        formats=re.sub("</?code>", "`", formats(public.edition)),
        version=__version__,
        contact=f"Questions: {contact}" if contact else "",
    )
    kit: dict[str, str | bytes] = {
        "README.md": readme,
        "edition.json": _as_json(public.edition),
        "sample_submission.zip": zipped(sample),
        **{f"kit/{name}": content for name, content in _program_files(public.edition).items()},
        **{f"predictions/{name}": content for name, content in predictions.items()},
    }
    data = {f"public_data_{split}.zip": zipped(own) for split, own in by_split.items()}
    return {"starting_kit.zip": zipped(kit), **data}


def _as_json(edition: Edition) -> str:
    return json.dumps(to_plain(edition), indent=1, ensure_ascii=False) + "\n"


def _with_units(source: Source, edition: Edition) -> dict[tuple[str, str], Document]:
    """Return the data files, which may have the units that gold lacks, if the edition has units."""
    if not edition.item.unit or not edition.files.data:
        return {}
    found = documents_among_others(source, Problems(), edition)
    return latest(found, Problems(), edition, Role.DATA)


def _references(
    references: Mapping[tuple[str, str], Document],
    beside: Mapping[tuple[str, str], Document],
    problems: Problems,
) -> dict[str, bytes]:
    """Return the gold of each split, with the data file of its units beside it."""
    by_split: dict[str, dict[str, bytes]] = {}
    for files in (beside, references):
        for (split, _), document in files.items():
            base = document.base.removesuffix(".gz")
            by_split.setdefault(split, {})[base] = document.read(problems) or b""
    by_split = {split: by_split[split] for split, _ in references}
    return {f"reference_data_{split}.zip": zipped(files) for split, files in by_split.items()}


def _command(*, blind: bool) -> str:
    """Return how the platforms run the scoring program."""
    return "python3 $program/score.py $input $output" + (" --blind" if blind else "")


def _program(edition: Edition, *, blind: bool = False) -> bytes:
    """Return the scoring program as a zip; that of a blind phase shows no scores."""
    metadata = (
        f"command: {_command(blind=blind)}\n"
        "description: The scores of a submission by the SHROOM kit.\n"
    )
    return zipped({**_program_files(edition), "metadata": metadata, "metadata.yaml": metadata})


def _program_files(edition: Edition) -> dict[str, str | bytes]:
    """Return the modules and the stylesheet of the scoring program, and the edition."""
    package = Path(__file__).parents[1]
    modules = [package / "__init__.py"]
    for name in PACKAGES:
        files = sorted((package / name).rglob("*"))
        modules += [path for path in files if path.suffix in (".py", ".css")]
    sources = {f"shroom/{path.relative_to(package).as_posix()}": path for path in modules}
    return {
        "score.py": (scorer_folder() / "scoring_program" / "score.py").read_bytes(),
        "edition.json": _as_json(edition),
        **{name: path.read_bytes() for name, path in sources.items()},
    }
