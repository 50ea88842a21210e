"""The choice of the edition or data set: by the option ``--edition``, or by the files."""

from __future__ import annotations

from typing import Any

from shroom.cli.options import Decorator, option, together
from shroom.cli.output import note
from shroom.core.problems import ShroomError
from shroom.scoring.editions.edition import Edition

#: The default edition.
SHROOM = "semeval2024"


def named_edition(otherwise: str, also: str = "", beside: str = "gold") -> Decorator:
    """Return the option ``--edition``; ``otherwise`` is the default without a file ``beside``."""
    return option(
        "--edition",
        f"Follow the rules of this shared task: {also}a name from 'shroom list editions', "
        f"or an edition.toml file. Default: the edition.toml next to the {beside}, otherwise "
        f"{otherwise}.",
        metavar="NAME|FILE",
    )


#: An edition, or a data set whose predictions have their own form; see :func:`form_of_gold`.
EDITION_OR_DATA_SET = named_edition(
    "the edition that matches the keys of the gold", also="'felm', "
)


def form_of_gold(
    named: str | None, submission: str, gold: str | None, data: str | None = None
) -> tuple[str, Edition]:
    """Return the data set of the gold (``SHROOM`` for editions) and the edition to score by."""
    from shroom.datasets.native_scores import SCORED
    from shroom.datasets.registry import refuse_another
    from shroom.scoring.editions.files import default

    if named is not None and gold is not None:
        refuse_another(named, gold)
    if named is not None and named in SCORED:
        return named, default()
    edition = edition_named(named, gold or data, submission)
    if edition is not None or gold is None:
        return SHROOM, edition or default()
    return _by_form(gold, _form_of(gold))


def edition_option(*sources: str, any_kind: bool = False) -> Decorator:
    """Add ``--edition``; by default it is looked up next to the first source specified."""

    def value(values: dict[str, Any]) -> Edition:
        source = next((values[name] for name in sources if values.get(name)), None)
        if isinstance(source, tuple):
            source = source[-1]
        (first, *_) = values.get("submissions") or (values.get("folder"),)
        edition = edition_given(values.pop("edition"), source, first, by_form=any_kind)
        if not any_kind:
            refuse_other_kinds(edition)
        return edition

    beside = "gold" if sources[0].endswith("gold") else "data"
    beside = "labelled sample" if sources == ("labelled",) else beside
    otherwise = f"the edition that matches the keys of the {beside}" if any_kind else SHROOM
    return together("edition", value, named_edition(otherwise, beside=beside))


def refuse_other_kinds(edition: Edition) -> None:
    if edition.annotation.kind != "binary":
        raise ShroomError(
            f"this command needs labels with p(Hallucination), but the edition {edition.name} has "
            f"the annotation kind '{edition.annotation.kind}'"
        )


def edition_given(
    edition: str | None, source: str | None, first: str | None = None, *, by_form: bool
) -> Edition:
    """Return the edition for a command line; print a note if it was recognised by the data."""
    from shroom.scoring.editions.files import NAMES, default

    chosen = edition_named(edition, source, first)
    if chosen is None and by_form and source and (name := _form_of(source)) in NAMES:
        return _by_form(source, name)[1]
    return chosen or default()


def edition_named(
    edition: str | None, source: str | None, first: str | None = None
) -> Edition | None:
    """Return the named edition, or the edition next to the source; ``None`` if there is neither.

    ``first`` is the first argument, which may be the source if arguments are swapped.
    """
    from shroom.scoring.editions.files import file_beside, resolve

    found, beside = resolve(edition, source)
    if beside is not None:
        note(f"using the edition {found.name} ({beside})")
    elif edition is None and source and first and (unused := file_beside(first)):
        note(
            f"{unused} is not used, because it is not next to {source}; if {first} is the gold, "
            f"put it last; otherwise, add --edition {unused}"
        )
    return None if edition is None and beside is None else found


def _form_of(source: str) -> str | None:
    """Return the name of a source's data set or edition, recognised by the keys of its rows."""
    from shroom.datasets.registry import guess
    from shroom.scoring.data_set_forms import EDITIONS

    return guess(source) or guess(source, EDITIONS)


def _by_form(source: str, name: str | None) -> tuple[str, Edition]:
    """Return the data set and the edition with this name; print a note unless it is the default."""
    from shroom.scoring.editions.files import NAMES, built_in, default

    if name in (None, SHROOM):
        return SHROOM, default()
    note(f"{source} looks like {name} data and is read as such (--edition {name})")
    return (SHROOM, built_in(name)) if name in NAMES else (name, default())
