"""The edition or the data set that files are of: the option that names it, and what shows it."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, Callable

import click

from shroom.cli.options import F
from shroom.cli.output import note
from shroom.core.problems import ShroomError, UnknownName
from shroom.scoring.editions.edition import Edition
from shroom.scoring.input_files import is_pipe

#: The data set whose form submissions usually have.
SHROOM = "semeval2024"


def named_edition(otherwise: str, also: str = "") -> Callable[[F], F]:
    """Return the option ``--edition``, whose help says what counts ``otherwise``."""
    return click.option(
        "--edition",
        metavar="NAME|FILE",
        help="Follow the rules of this shared task: a name from 'shroom list editions', "
        f"{also}or an edition.toml; by default the one beside the gold, else {otherwise}.",
    )


#: An edition, or a data set with predictions of a form of its own; see :func:`form_of_gold`.
EDITION_OR_DATA_SET = named_edition("what the form of the gold shows", also="felm, ")


def form_of_gold(
    named: str | None, submission: str, gold: str | None, data: str | None = None
) -> tuple[str, Edition]:
    """Return the name of the data set that the gold is of, and the edition to score by.

    An edition that was named or lies beside the gold counts, else the form of the gold; what lies
    beside a submission does not. A data set that is an edition as well is scored as that, and the
    name is then ``SHROOM``.

    Raises
    ------
    ShroomError
        If the gold is of another than was named, or the submission looks like gold instead.
    """
    from shroom.datasets.native_scores import SCORED
    from shroom.datasets.registry import refuse_another
    from shroom.scoring.editions.files import NAMES, built_in, default

    if named is not None and gold is not None:
        refuse_another(named, gold)
    if named is not None and named in SCORED:
        return named, default()
    try:
        edition = edition_named(named, gold or data)
    except UnknownName as error:
        raise UnknownName(f"{error}; check and score also take {' and '.join(SCORED)}") from error
    if edition is not None:
        return SHROOM, edition
    name = None if gold is None else _form_of(gold)
    if gold is not None and name is None and not is_pipe(gold):
        _refuse_swapped(submission, gold)
    if gold is None or name in (None, SHROOM):
        return SHROOM, default()
    _say_form(gold, name)
    return (SHROOM, built_in(name)) if name in NAMES else (name, default())


def _refuse_swapped(submission: str, gold: str) -> None:
    """Refuse what looks like gold against what does not."""
    from shroom.datasets.native_scores import SCORED
    from shroom.datasets.registry import guess
    from shroom.scoring.editions.files import NAMES

    looks = guess(submission)
    if looks in SCORED or (looks != SHROOM and looks in NAMES):
        raise ShroomError(
            f"{submission}: this has the form of {looks}'s gold, and {gold} does not; name the "
            "submission first and the gold last"
        )


def edition_option(
    *sources: str, after: int = 0, by_form: bool = False, any_kind: bool = False
) -> Callable[[F], F]:
    """Add ``--edition`` to a verb, which gets the edition as ``edition``.

    Parameters
    ----------
    *sources : str
        The parameters of the verb that name gold or data, beside which an ``edition.toml`` is
        looked for; the first one that is given counts, and of several arguments the last.
    after : int
        How many of these arguments come before it: an edition beside a submission does not count.
    by_form : bool
        Whether gold without such a file is recognised by the keys of its rows.
    any_kind : bool
        Whether the verb takes every kind of annotation; otherwise binary labels alone.
    """

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def collected(*args: Any, **values: Any) -> Any:
            source = next((values[name] for name in sources if values.get(name)), None)
            if isinstance(source, tuple):
                source = source[-1] if len(source) > after else None
            edition = edition_given(values.pop("edition"), source, by_form=by_form)
            if not any_kind:
                refuse_other_kinds(edition)
            if values.get("metrics"):
                refuse_unknown_metrics(values["metrics"], edition)
            return command(*args, edition=edition, **values)

        otherwise = "what the form of the data shows" if by_form else SHROOM
        return named_edition(otherwise)(collected)  # type: ignore[return-value]

    return decorate


def refuse_other_kinds(edition: Edition) -> None:
    """Refuse an edition whose annotation is not a label with p."""
    if edition.annotation.kind != "binary":
        raise ShroomError(
            f"{edition.name}: its annotation is {edition.annotation.kind}, and this command needs "
            "labels with p(Hallucination)"
        )


def refuse_unknown_metrics(names: Iterable[str], edition: Edition) -> None:
    """Refuse a command line with a metric that the edition's annotation does not have."""
    from shroom.scoring.kinds.registry import kind_of

    kind = kind_of(edition)
    try:
        for name in set(names) - {"all"}:
            kind.metric(name, edition)
    except ShroomError as error:
        raise click.BadParameter(str(error), param_hint="'--metrics'") from error


def edition_given(edition: str | None, source: str | None, *, by_form: bool) -> Edition:
    """Return the edition that a command line means, saying so where it was found by itself."""
    from shroom.scoring.editions.files import NAMES, built_in, default

    chosen = edition_named(edition, source)
    name = _form_of(source) if chosen is None and by_form and source is not None else None
    if source is not None and name not in (None, SHROOM) and name in NAMES:
        _say_form(source, name)
        return built_in(name)
    return chosen or default()


def edition_named(edition: str | None, source: str | None) -> Edition | None:
    """Return the edition that is named, or that lies beside a source; ``None`` if there is none."""
    from shroom.scoring.editions.files import resolve

    found, beside = resolve(edition, source)
    if beside is not None:
        note(f"the edition is {found.name}, by {beside}")
    return None if edition is None and beside is None else found


def _form_of(source: str) -> str | None:
    """Return the data set or the edition of a source, by the keys of its rows."""
    from shroom.datasets.registry import guess
    from shroom.scoring.editions.by_form import edition_of

    name = guess(source)
    own = edition_of(source) if name is None else None
    return own.name if own else name


def _say_form(source: str, name: str) -> None:
    """Say as what a file was recognised, and the option that says so beforehand."""
    note(f"{source} is in the form of {name}, and so taken as that (--edition {name})")
