"""The competition bundle: what an organiser uploads to Codabench or CodaLab.

The scoring program in it is a copy of the kit's own modules, taken when the bundle is built, with
a thin ``score.py`` before them. The same inputs and dates give the same bytes.
"""

from __future__ import annotations

import datetime as dt
import json
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Template

from shroom.core.atomic_writing import write_atomically, zipped
from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.scoring.check import read_table
from shroom.scoring.column_checks import check_doubled, check_votes
from shroom.scoring.editions.files import default, to_plain
from shroom.scoring.file_choice import latest
from shroom.scoring.input_files import documents
from shroom.scoring.table import Role

#: The packages that scoring needs, which import numpy alone; no others are copied.
PACKAGES = ("core", "metrics", "scoring")
_PHASES = {
    "val": ("Validation", "Develop your system; the scores are shown at once."),
    "test": ("Evaluation", "Hand in your predictions on the test data."),
}
_DAYS = 28
_TASK = """\
  - index: {index}
    name: {name}
    description: {about}
    is_public: false
    reference_data: reference_data_{split}.zip
    scoring_program: scoring_program.zip
"""
_PHASE = """\
  - index: {index}
    name: {name}
    description: {about}
    start: {start}
{end}    max_submissions_per_day: 5
    max_submissions: 100
    tasks:
      - {index}
"""
_PHASE_V1 = """\
  {number}:
    phasenumber: {number}
    label: {name}
    description: {about}
    start_date: {start}
    max_submissions_per_day: 5
    max_submissions: 100
    scoring_program: scoring_program.zip
    reference_data: reference_data_{split}.zip
"""


def build(gold: Source, start: dt.date, problems: Problems | None = None) -> dict[str, bytes]:
    """Return the bundle's files: both competitions, and the scoring program alone.

    Parameters
    ----------
    gold : path
        A folder or zip with the labelled splits, named as submissions are.
    start : date
        When the first phase starts; the next follows after four weeks.
    problems : Problems, optional
        Gets the warnings about the gold.

    Returns
    -------
    dict
        ``codabench.zip``, ``codalab.zip`` and ``scoring_program.zip``.

    Raises
    ------
    ShroomError
        Where the gold has no labelled split, or has errors.
    """
    scorer = scorer_folder()
    program = zipped(_program(scorer))
    references = {split: zipped(files) for split, files in labelled(gold, problems).items()}
    common = {
        "logo.png": (scorer / "logo.png").read_bytes(),
        "scoring_program.zip": program,
        **{f"pages/{page.name}": page.read_bytes() for page in (scorer / "pages").iterdir()},
        **{f"reference_data_{split}.zip": data for split, data in references.items()},
    }
    return {
        "codabench.zip": zipped(
            {**common, "competition.yaml": _codabench(scorer, list(references), start)}
        ),
        "codalab.zip": zipped(
            {**common, "competition.yaml": _codalab(scorer, list(references), start)}
        ),
        "scoring_program.zip": program,
    }


def write(files: Mapping[str, bytes], out: Source) -> None:
    """Write the bundle's files into a folder."""
    for name, data in files.items():
        write_atomically(Path(out) / name, data)


def scorer_folder() -> Path:
    """Return where the bundle's templates lie: beside the package, or where pip puts data."""
    beside = Path(__file__).parents[2] / "scorer"
    installed = Path(sysconfig.get_path("data")) / "share" / "shroom-kit" / "scorer"
    for folder in (beside, installed):
        if (folder / "codabench.yaml").is_file():
            return folder
    raise ShroomError(f"the bundle's templates are missing; expected them in {installed}")


def labelled(gold: Source, problems: Problems | None = None) -> dict[str, dict[str, bytes]]:
    """Return the labelled files of a gold folder by split, val before test."""
    problems = Problems() if problems is None else problems
    splits: dict[str, dict[str, bytes]] = {split: {} for split in _PHASES}
    for (split, _), document in sorted(latest(documents(gold, problems), problems).items()):
        if split in splits:
            table = read_table(document, Role.GOLD, problems)
            if table is not None and table.labelled:
                check_doubled(table, problems)
                check_votes(table, problems)
                base = document.base.removesuffix(".gz")
                splits[split][base] = document.read(problems) or b""
    if problems.errors:
        raise InvalidInput(problems)
    by_split = {split: files for split, files in splits.items() if files}
    if not by_split:
        raise ShroomError(
            f"{gold}: has no labelled file named {{val,test}}.model-{{agnostic,aware}}.json"
        )
    return by_split


def _program(scorer: Path) -> dict[str, bytes]:
    package = Path(__file__).parents[1]
    program = scorer / "scoring_program"
    names = ("score.py", "metadata", "metadata.yaml")
    modules = [package / "__init__.py"]
    for name in PACKAGES:
        modules += sorted((package / name).rglob("*.py"))
    edition = json.dumps(to_plain(default()), indent=1) + "\n"
    return {
        **{name: (program / name).read_bytes() for name in names},
        "edition.json": edition.encode(),
        **{f"shroom/{path.relative_to(package).as_posix()}": path.read_bytes() for path in modules},
    }


def _codabench(scorer: Path, splits: list[str], start: dt.date) -> bytes:
    tasks, phases = [], []
    for index, split in enumerate(splits):
        name, about = _PHASES[split]
        tasks.append(_TASK.format(index=index, name=name, about=about, split=split))
        begin, end = _date(start, index), ""
        if index + 1 < len(splits):
            # Codabench refuses a phase that ends when the next one starts, and would read a time
            # that is not quoted as the midnight before it.
            end = f'    end: "{_date(start, index + 1, -1)} 23:59:59"\n'
        phases.append(_PHASE.format(index=index, name=name, about=about, start=begin, end=end))
    return _filled(scorer / "codabench.yaml", tasks=tasks, phases=phases)


def _codalab(scorer: Path, splits: list[str], start: dt.date) -> bytes:
    phases = []
    for index, split in enumerate(splits):
        name, about = _PHASES[split]
        begin, number = _date(start, index), index + 1
        phases.append(
            _PHASE_V1.format(number=number, name=name, about=about, start=begin, split=split)
        )
    return _filled(scorer / "codalab.yaml", phases=phases)


def _date(start: dt.date, phase: int, days: int = 0) -> str:
    """Return the day on which a phase starts, or one that is ``days`` after it."""
    try:
        return (start + dt.timedelta(days=_DAYS * phase + days)).isoformat()
    except OverflowError as error:
        raise ShroomError(f"{start}: leaves no time for the phases; name an earlier day") from error


def _filled(template: Path, **parts: Iterable[str]) -> bytes:
    text = Template(template.read_text(encoding="utf-8"))
    return text.substitute({key: "".join(value) for key, value in parts.items()}).encode()
