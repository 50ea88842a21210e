"""Count the lines of each package of shroom/, of scorer/ and the tests, and the words of docs/."""

from __future__ import annotations

import ast
import sys
import tokenize
from collections import Counter
from pathlib import Path

COLUMNS = ("lines", "code", "docstrings", "imports", "modules")
_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def count(path: Path) -> Counter[str]:
    """Return the counts of one module by column.

    Code is every line that is not blank, a comment, a docstring or an import. A statement counts
    with all its lines.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    docstrings: set[int] = set()
    imports: set[int] = set()
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            docstrings.update(_numbers(node.body[0]))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            imports.update(_numbers(node))
    code: set[int] = set()
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type not in _NO_CODE:
                code.update(range(token.start[0], token.end[0] + 1))
    code &= {number for number, line in enumerate(lines, start=1) if line.strip()}
    code -= docstrings | imports
    figures = (len(lines), len(code), len(docstrings), len(imports), 1)
    return Counter(dict(zip(COLUMNS, figures)))


def main(root: Path) -> None:
    """Print the table."""
    packages: dict[str, Counter[str]] = {}
    for path in sorted((root / "shroom").rglob("*.py")):
        inner = path.relative_to(root / "shroom").parts
        package = inner[0] if len(inner) > 1 else "(top)"
        packages.setdefault(package, Counter()).update(count(path))
    totals = {
        "shroom": sum(packages.values(), Counter()),
        "scorer": sum(map(count, (root / "scorer").rglob("*.py")), Counter()),
        "tests": sum(map(count, (root / "tests").rglob("*.py")), Counter()),
    }
    print(" " * 12, *(f"{column:>10}" for column in COLUMNS))
    for name, figures in {**packages, **totals}.items():
        print(f"{name:12}", *(f"{figures[column]:10,}" for column in COLUMNS))
    words = sum(len(path.read_text("utf-8").split()) for path in (root / "docs").rglob("*.md"))
    print(f"{'docs':12} {words:10,} words")


def _numbers(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
