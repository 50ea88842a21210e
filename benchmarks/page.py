"""Write docs/benchmarks.md: the template page.md, filled in from what the benchmarks have stored.

A line `$NAME` of the template stands for what benchmarks/NAME.py printed, stored in
results/NAME.json; `$summary` for the most telling ratios of all scripts, and `$machines` for where
and when they ran. A script without a stored result gets a line that says so.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import machine_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Results = Mapping[str, Mapping[str, Any]]

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
TEMPLATE = HERE / "page.md"
PAGE = HERE.parent / "docs" / "benchmarks.md"
PLACE = re.compile(r"^\$([\w-]+)$", re.MULTILINE)
SUMMARY, MACHINES = "summary", "machines"


def main() -> int:
    """Write the page, or check whether it is up to date."""
    options = _options()
    results = read(options.results)
    template = TEMPLATE.read_text(encoding="utf-8")
    homeless = sorted(set(results) - set(scripts(template)))
    if homeless:
        names = ", ".join(f"${name}" for name in homeless)
        print(f"{TEMPLATE.name} has no place for {names}", file=sys.stderr)
        return 1
    text = page(template, results)
    if not options.check:
        options.page.write_text(text, encoding="utf-8")
    elif not options.page.exists() or options.page.read_text(encoding="utf-8") != text:
        how = "is not what the template and the results give; write it by benchmarks/page.py"
        print(f"{options.page.name} {how}", file=sys.stderr)
        return 1
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if it differs")
    parser.add_argument("--results", type=Path, default=RESULTS, help="(default: results)")
    parser.add_argument("--page", type=Path, default=PAGE, help="(default: docs/benchmarks.md)")
    return parser.parse_args()


def read(folder: Path) -> Results:
    """Return the stored results by their scripts' names."""
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.json"))
    }


def scripts(template: str) -> list[str]:
    """Return the names of the scripts that a template has a place for, in its order."""
    return [name for name in PLACE.findall(template) if name not in {SUMMARY, MACHINES}]


def page(template: str, results: Results) -> str:
    """Return the template with its places filled in."""
    known = {name: results[name] for name in scripts(template) if name in results}
    filled = {SUMMARY: summary(known), MACHINES: machines(known)}
    filled.update((name, block(name, known.get(name))) for name in scripts(template))
    return PLACE.sub(lambda place: "\n".join(filled[place[1]]), template)


def summary(results: Results) -> Iterator[str]:
    """Yield the table of what the kit takes beside what people use without it."""
    yield "| | the kit | without it | by | ratio | script |"
    yield "|---|---:|---:|---|---:|---|"
    for name, result in results.items():
        for row in result["beside"]:
            figures = (f"{_rounded(row[side])} {row['unit']}" for side in ("ours", "theirs"))
            ratio = f"**{_rounded(row['ratio'])}**"
            cells = (row["work"], *figures, row["peer"], ratio, f"[{name}](#{name}py)")
            yield f"| {' | '.join(cells)} |"


def machines(results: Results) -> Iterator[str]:
    """Yield where and when the scripts ran, one line for each machine and day."""
    ran: dict[tuple[str, str], list[str]] = {}
    for name, result in results.items():
        about = result["machine"]
        ran.setdefault((about["date"], machine_line(about)), []).append(name)
    for (date, machine), names in sorted(ran.items()):
        yield f"- {date}, {machine}: {', '.join(names)}"


def block(name: str, result: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield what a script printed, below its command line."""
    if result is None:
        yield f"Not measured yet: `make bench ONLY={name}` does it."
        return
    load = f"load {result['machine']['load']:.2f} before it"
    yield f"`{result['command']}`, {result['machine']['date']}, {load}:"
    yield ""
    yield "```text"
    yield from result["report"]
    yield "```"


def _rounded(value: float) -> str:
    """Return a figure with two digits, which is more than is certain."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:#.2g}"


if __name__ == "__main__":
    sys.exit(main())
