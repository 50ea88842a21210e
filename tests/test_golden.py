"""What commands print and write, and what detectors answer, as data in ``tests/golden``.

``python tests/test_golden.py --write [FILE...]`` runs everything again, or the commands of a file,
and writes what they give now. Inputs are in ``golden/inputs``; a text of more than 40 lines has a
file of its own, in a folder with the name of its command.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest
from golden_runs import GOLDEN, outcome

COMMANDS = GOLDEN / "commands"
INLINE = 40  #: the most lines of a text that stands in the table itself


def cases() -> dict[str, dict]:
    tables = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in COMMANDS.glob("*.toml")}
    return {
        f"{file}/{name}": tables[file][name] for file in sorted(tables) for name in tables[file]
    }


def expected(name: str, case: dict) -> dict[str, str]:
    """Return the exit code and every text of a case: those in the table, and those in files."""
    files = {path for path in (COMMANDS / name).rglob("*") if path.is_file()}
    found = {path.relative_to(COMMANDS / name).as_posix(): path.read_bytes() for path in files}
    kept = {"exit": str(case["exit"]), "stdout": case["stdout"], "stderr": case["stderr"]}
    kept |= {place: content.decode() for place, content in found.items()}
    return {place: text for place, text in {**kept, **case.get("written", {})}.items() if text}


@pytest.mark.parametrize("name", cases())
def test_a_command_prints_and_writes_what_it_did(name, tmp_path):
    case = cases()[name]
    known, found = expected(name, case), outcome(case, tmp_path)
    assert sorted(found) == sorted(known)
    for place, text in known.items():
        assert found[place] == text, place


def quoted(text: str) -> str:
    """Return a TOML string: literal if it can be, so that it reads as it was printed."""
    if not re.search(r"[^\n\t -\ud7ff\ue000-\U0010ffff]|'''|'$|\x7f", text):
        return f"'''\n{text}'''" if "\n" in text or "'" in text else f"'{text}'"
    return '"""\n' + "\n".join(json.dumps(line)[1:-1] for line in text.split("\n")) + '"""'


def written_again(name: str, case: dict) -> str:
    """Run a case, write its long texts to files, and return its table."""
    with tempfile.TemporaryDirectory() as folder:
        found = outcome(case, Path(folder).resolve())
    shutil.rmtree(COMMANDS / name, ignore_errors=True)
    inline = {place: text for place, text in found.items() if text.count("\n") <= INLINE}
    for place in found.keys() - inline.keys():
        path = COMMANDS / name / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(found[place].encode())
    given = {key: case[key] for key in ("stdin", "digits") if key in case}
    lines = [f"[{name.partition('/')[2]}]", f"run = {quoted(case['run'])}"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in given.items()]
    lines.append(f"exit = {inline.pop('exit')}")
    lines += [f"{key} = {quoted(inline.pop(key, ''))}" for key in ("stdout", "stderr")]
    if inline:
        lines += ["", f"[{name.partition('/')[2]}.written]"]
        lines += [f"{json.dumps(place)} = {quoted(text)}" for place, text in inline.items()]
    return "\n".join(lines) + "\n"


def write(chosen: list[str]) -> None:
    """Run the cases again, and write what they print; a file that is named is written whole."""
    for path in sorted(COMMANDS.glob("*.toml")):
        if not chosen or path.stem in chosen:
            table = tomllib.loads(path.read_text("utf-8"))
            texts = [written_again(f"{path.stem}/{name}", case) for name, case in table.items()]
            path.write_bytes("\n\n".join(texts).encode())


if __name__ == "__main__":
    write(sys.argv[2:])
