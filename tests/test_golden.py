"""What commands print and write, and what detectors answer, as data in ``tests/golden``.

``python tests/test_golden.py --write [FILE...]`` runs everything again, or the commands of some
files (``score compare``), and writes what they give now; a new command needs only ``run``. Inputs
are in ``golden/inputs``. A text of more than 40 lines has a file of its own, in a folder with the
name of its command. ``within`` is how far the numbers of a model may be off, ``hide`` names output
that is not compared, and ``stdin`` an input that comes from the pipe.
"""

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
DECIMAL = re.compile(r"\d+\.\d+")


def cases() -> dict[str, dict]:
    """Return the command lines with what is known of them, by file and name."""
    tables = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in COMMANDS.glob("*.toml")}
    return {
        f"{file}/{name}": case for file in sorted(tables) for name, case in tables[file].items()
    }


CASES = cases()


def expected(name: str) -> dict[str, str]:
    """Return the exit code and every text of a case: those in the table, and those in files."""
    case, folder = CASES[name], COMMANDS / name
    kept = {"exit": str(case["exit"]), "stdout": case["stdout"], "stderr": case["stderr"]}
    kept |= case.get("written", {})
    for path in folder.rglob("*"):
        if path.is_file():
            kept[path.relative_to(folder).as_posix()] = path.read_bytes().decode()
    return {place: text for place, text in kept.items() if text}


def parts(text: str, *, numbers: bool) -> tuple[str, list[float]]:
    """Return a text without its decimal numbers, and the numbers."""
    if not numbers:
        return text, []
    return DECIMAL.sub("#", text), [float(number) for number in DECIMAL.findall(text)]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.models] if "within" in case else [])
        for name, case in CASES.items()
    ],
)
def test_a_command_prints_and_writes_what_it_did(name, tmp_path):
    known, found = expected(name), outcome(CASES[name], tmp_path)
    within = CASES[name].get("within", 0)  # how far p may be off on another processor
    assert sorted(found) == sorted(known)
    for place, text in known.items():
        (words, numbers), (old_words, old) = (
            parts(each, numbers=within > 0) for each in (found[place], text)
        )
        assert words == old_words, place
        assert numbers == pytest.approx(old, abs=within), place


def quoted(text: str) -> str:
    """Return a TOML string: literal if it can be, so that it reads as it was printed."""
    if not re.search(r"[^\n\t -\ud7ff\ue000-\U0010ffff]|'''|'$|\x7f", text):
        return f"'''\n{text}'''" if "\n" in text or "'" in text else f"'{text}'"
    return '"""\n' + "\n".join(json.dumps(line)[1:-1] for line in text.split("\n")) + '"""'


def written_again(name: str, case: dict) -> str:
    """Run a case, write its long texts to files, and return its table."""
    with tempfile.TemporaryDirectory() as folder:
        found = outcome(case, Path(folder).resolve())
    inline = {place: text for place, text in found.items() if text.count("\n") <= INLINE}
    for place in found.keys() - inline.keys():
        path = COMMANDS / name / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(found[place].encode())
    given = {key: case[key] for key in ("stdin", "within", "hide") if key in case}
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
            shutil.rmtree(COMMANDS / path.stem, ignore_errors=True)
            table = tomllib.loads(path.read_text("utf-8"))
            texts = [written_again(f"{path.stem}/{name}", case) for name, case in table.items()]
            path.write_bytes("\n\n".join(texts).encode())


if __name__ == "__main__":
    write(sys.argv[2:])
