"""Write the table of results into baselines/README.md, from the records of the runs.

    python baselines/table.py [SUBMISSIONS]

Each run of `make baseline RECIPE=...` leaves a record, `run.json`, beside its submission. A star
marks in-sample figures; out-of-fold figures have no star.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BEGIN, END = "<!-- begin table -->", "<!-- end table -->"
SPLITS = [
    (split, track) for split in ("val", "test") for track in ("model-agnostic", "model-aware")
]
#: Accuracy and rho that others have published, in the order of SPLITS; None where they have not.
PUBLISHED: list[tuple[str, list[str | None]]] = [
    ("one annotator against the majority", [".821/.519", ".804/.468", ".820/.510", ".803/.447"]),
    ("official baseline (Mistral-7B)", [".649/.380", ".707/.461", ".697/.403", ".745/.488"]),
    ("GPT-3.5 prompt", [".725/.549", ".713/.542", ".737/.579", ".709/.527"]),
    ("roberta-large-mnli, C/(C+E)", [".713/.642", ".691/.573", ".737/.611", ".730/.549"]),
    ("SelfCheckGPT-NLI", [".752/.699", ".717/.671", ".753/.683", ".759/.683"]),
    ("deberta-v2-xxlarge-mnli", [".758/.735", ".719/.666", ".761/.729", ".759/.691"]),
    ("GPT-4 prompt (v13)", [None, None, ".829/.721", ".803/.656"]),
    ("best ranked team", [None, None, ".847/.77", ".813/.70"]),
]


def main(submissions: Path) -> None:
    """Replace what stands between the marks of the page."""
    page = HERE / "README.md"
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    records = [json.loads(path.read_text()) for path in sorted(submissions.glob("*/run.json"))]
    page.write_text(f"{before}{BEGIN}\n{table(records)}\n{END}{after}", encoding="utf-8")


def table(records: list[dict[str, Any]]) -> str:
    """Return the table as Markdown."""
    lines = [
        "| system | val agnostic | val aware | test agnostic | test aware | seconds | source |",
        "|---|---|---|---|---|---|---|",
    ]
    for record in records:
        cells = [figures(record, split, track) for split, track in SPLITS]
        n = sum(record["datapoints"].values())
        seconds = f"{record['seconds']:.0f} for {n}"
        lines.append(row(f"`{record['recipe']}`", cells, seconds, "run"))
    lines += [row(name, cells, "", "published") for name, cells in PUBLISHED]
    return "\n".join(lines)


def figures(record: dict[str, Any], split: str, track: str) -> str | None:
    """Return accuracy / rho of a track, with a star where the run was in-sample."""
    bases = [base for base in record["in_sample"] if base.startswith(f"{split}.{track}")]
    for base in bases:
        found = (record["out_of_fold"] or {}).get(base)
        if isinstance(found, dict):  # an older record has the figures, not the number of items
            return shown(found)
    for score in record["scores"]:
        if (score["split"], score["track"]) == (split, track):
            return shown(score) + ("*" if bases else "")
    return None


def shown(figure: dict[str, Any]) -> str:
    """Return accuracy/rho to three places.

    >>> shown({"accuracy": 0.7, "rho": None})
    '.700/–'
    """
    numbers = (figure["accuracy"], figure["rho"])
    return "/".join("–" if x is None else f"{x:.3f}".removeprefix("0") for x in numbers)


def row(name: str, cells: list[str | None], seconds: str, source: str) -> str:
    """Return a line of the table."""
    return "| " + " | ".join([name, *(cell or "–" for cell in cells), seconds, source]) + " |"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "submissions")
