"""Check that the files in dist/ can be released: ``python .ci/check_release.py [TAG]``."""

from __future__ import annotations

import re
import runpy
import sys
import zipfile
from email.parser import Parser
from pathlib import Path


def problems(root: Path, tag: str | None = None) -> list[str]:
    """Return the problems of tag, changelog, wheel and sdist, as sentences."""
    version = runpy.run_path(str(root / "shroom" / "core" / "version.py"))["__version__"]
    wrong = []
    if tag not in (None, f"v{version}"):
        wrong.append(f"the tag is {tag}, expected v{version} (shroom/core/version.py)")
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    title = changelog.partition("\n## ")[2].partition("\n")[0]
    if not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", title):
        wrong.append(f"CHANGELOG.md begins with '{title}', expected '{version} (YYYY-MM-DD)'")
    stem = f"shroom_kit-{version}"
    files = sorted(path.name for path in (root / "dist").glob("*"))
    expected = [f"{stem}-py3-none-any.whl", f"{stem}.tar.gz"]
    if files != expected:
        return [
            *wrong,
            f"dist/ has {', '.join(files) or 'nothing'}, expected {', '.join(expected)}",
        ]
    # The wheel is built from the sdist, so a file that is missing in one is missing in both.
    with zipfile.ZipFile(root / "dist" / expected[0]) as wheel:
        members = set(wheel.namelist())
        metadata = Parser().parsestr(wheel.read(f"{stem}.dist-info/METADATA").decode())
    if metadata["Version"] != version:
        wrong.append(f"the wheel's version is {metadata['Version']}, expected {version}")
    sources = {
        path.relative_to(root).as_posix()
        for path in (root / "shroom").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    return wrong + [f"the wheel does not contain {name}" for name in sorted(sources - members)]


if __name__ == "__main__":
    lines = problems(Path(__file__).parent.parent, *sys.argv[1:])
    sys.exit("\n".join(f"not ready for a release: {line}" for line in lines) or 0)
