"""The templates of the bundle: its description, README and default pages."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import Any

from shroom.core.json_writing import json_line
from shroom.core.problems import ShroomError, printable
from shroom.scoring.editions.validation import PAGES, page_problem

_ENDINGS = (".html", ".htm", ".md", ".txt")


def scorer_folder() -> Path:
    """Return the folder of the templates: beside the package, or among pip's data files."""
    beside = Path(__file__).parents[2] / "scorer"
    installed = Path(sysconfig.get_path("data")) / "share" / "shroom-kit" / "scorer"
    for folder in (beside, installed):
        if (folder / "logo.png").is_file():
            return folder
    raise ShroomError(f"the templates of the bundle are missing; expected them in {installed}")


def rendered(name: str, values: Mapping[str, Any]) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    write: dict[str, Callable[[Any], str]] = {".html": _as_html, ".yaml": _as_yaml, ".md": str}
    environment = Environment(
        loader=FileSystemLoader(scorer_folder()),
        undefined=StrictUndefined,
        autoescape=True,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_safe(write[Path(name).suffix]),
    )
    environment.filters["code"] = _safe(lambda name: f"<code>{_as_html(name)}</code>")
    environment.filters["json"] = _safe(lambda row: _as_html(json_line(row), quote=False))
    return environment.get_template(name).render(values)


def pages(folder: Path, values: Mapping[str, Any]) -> dict[str, tuple[str, bytes]]:
    """Return the file and content of each page by title; the edition's pages are unchanged."""
    own: dict[str, str] = values["edition"].pages
    listed = {}
    for name in dict.fromkeys((*PAGES, *own)):
        ending, problem = ".html", ""
        if name in own:
            path = folder / own[name]
            ending = path.suffix.lower()
            problem = page_problem(path, folder)
            if ending not in _ENDINGS:
                problem = f"expected a file ending in {', '.join(_ENDINGS)}, got {path}"
            content = b"" if problem else path.read_bytes()
            text = content.decode("utf-8-sig", "replace")
            if "\ufffd" in text:
                problem = f"{path} is not UTF-8"
            elif not problem and not text.strip():
                problem = f"{path} is empty; Codabench rejects empty pages"
            if problem:
                raise ShroomError(f"pages.{name}: {problem}")
        else:
            content = rendered(f"pages/{name}.html", values).encode()
        listed[name.replace("_", " ").capitalize()] = f"pages/{name}{ending}", content
    return listed


def _safe(write: Callable[[Any], str]) -> Callable[[Any], Any]:
    from markupsafe import Markup

    return lambda value: value if isinstance(value, Markup) else Markup(write(value))  # noqa: S704


def _as_html(text: object, *, quote: bool = True) -> str:
    """Return a text as HTML; characters that reorder or hide text are escaped."""
    return escape("\n".join(map(printable, str(text).split("\n"))), quote=quote)


def _as_yaml(value: object) -> str:
    import yaml

    style = '"' if "\n" in str(value) else None
    text = yaml.safe_dump(value, allow_unicode=True, width=sys.maxsize, default_style=style)
    return text.removesuffix("\n").removesuffix("\n...")
