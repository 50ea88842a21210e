"""The ``shroom`` command: one module for each verb, imported when it is called."""

from __future__ import annotations

import importlib
import io
import shutil
import sys
from typing import Any, Callable

import click

from shroom.cli.output import say
from shroom.core.plug_in_errors import plug_in_errors
from shroom.core.printing import TABLE_WIDTH
from shroom.core.problems import (
    InvalidInput,
    Problems,
    ShroomError,
    UnknownName,
    nearest,
    printable,
)
from shroom.core.version import __version__

#: The verbs under the headings of the overview, with the line that it shows of each.
VERBS = {
    "Submissions": {
        "check": "Report everything that is wrong with a submission.",
        "score": "Score a submission against the gold.",
        "compare": "Test which differences between submissions are significant.",
        "leaderboard": "Rank all submissions of a folder, with intervals.",
        "report": "Write a page, a figure or a table of items about submissions.",
    },
    "Detectors": {
        "predict": "Run a detector and write its submission.",
        "fit": "Fit a detector on labelled data.",
        "evaluate": "Evaluate detectors on data sets.",
        "explain": "Show which words of a hypothesis raise or lower p.",
        "calibrate": "Fit or apply a calibrator and a threshold.",
        "ensemble": "Combine several submissions into one.",
        "rate": "Estimate the share of hallucinations in unlabelled outputs.",
    },
    "Data": {"datasets": "Describe, convert, fetch or corrupt a data set."},
    "Annotation": {"annotate": "Generate answers, score and rank them, train a probe."},
    "Organisers": {
        "edition": "Write, show and check the rules of a shared task.",
        "gold": "Check the gold, measure agreement, compare two versions.",
        "bundle": "Build the competition bundle for Codabench.",
    },
    "Reference": {"list": "List detectors, metrics, data sets or editions."},
}
#: The verbs that read no data, and so have nothing to warn of.
_WITHOUT_DATA = ("list", "edition")


#: The headings below which help shows the options that several verbs share, by their names. The
#: options of only one verb come first.
OPTION_GROUPS = {
    "Input": "gold data edition columns track split",
    "Detector": "model settings threshold folds in_sample",
    "Scores": "by metrics metric official trials",
    "Intervals": "no_ci confidence resamples interval_seed interval",
    "Run": "precision batch_tokens device resume no_cache max_cost dry_run engine address workers",
    "Output": "form output html all help",
}


def _with_examples(settings: dict[str, Any]) -> dict[str, Any]:
    """Return a command's settings, with its examples before what else is below its options."""
    lines = "\n".join(f"  {line}" for line in settings.pop("examples", ()))
    more = settings.pop("epilog", None)
    parts = [f"\b\nExamples:\n{lines}" if lines else "", more or ""]
    return {**settings, "epilog": "\n\n".join(filter(None, parts))}


class Command(click.Command):
    """A verb whose help shows its options in groups, and ``examples`` that a test runs."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **_with_examples(settings))
        for option in self.params:
            if isinstance(option, click.Option) and option.show_default is None:
                option.show_default = True

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verb's own options, then the shared ones below their headings."""
        groups: dict[str, list[tuple[str, str]]] = {"Options": [], **{h: [] for h in OPTION_GROUPS}}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            word = "help" if "--help" in param.opts else param.name
            names = (name for name, group in OPTION_GROUPS.items() if word in group.split())
            if record is not None:
                groups[next(names, "Options")].append(record)
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


def _show_all(ctx: click.Context, param: click.Parameter, value: object) -> None:
    del ctx, param
    Problems.show_all = bool(value)


_ALL = click.Option(
    ["--all"],
    is_flag=True,
    expose_value=False,
    callback=_show_all,
    help="Show every problem, not only one warning of a kind and 3 errors of a code.",
)


def with_all_option(command: click.Command) -> click.Command:
    """Return a command, or a group, whose verbs have the option ``--all``."""
    for verb in getattr(command, "commands", {"": command}).values():
        if _ALL not in verb.params:
            verb.params.append(_ALL)
    return command


class Group(click.Group):
    """A group of verbs, with ``examples``."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **_with_examples(settings))

    def verb(self, name: str, *examples: str) -> Callable[[Callable[..., Any]], click.Command]:
        """Return a decorator that makes a verb of the group, with examples."""
        return self.command(name, cls=Command, examples=examples)


class Verbs(Group):
    """A group whose commands are imported only when they are called.

    Parameters
    ----------
    verbs : mapping of mapping
        The line that the overview shows of each verb, by heading and name.
    prefix : str
        Beginning of the names of the commands' modules.
    """

    def __init__(
        self, *args: Any, verbs: dict[str, dict[str, str]], prefix: str = "", **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self.headings, self.prefix = verbs, prefix
        self.verbs = [name for lines in verbs.values() for name in lines]

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs, in the order in which one meets them."""
        del ctx
        return self.verbs

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a verb's command, or ``None`` if there is no such verb."""
        del ctx
        if cmd_name not in self.verbs:
            return None
        module = importlib.import_module(f"shroom.cli.{self.prefix}{cmd_name}")
        command: click.Command = module.command
        return command if cmd_name in _WITHOUT_DATA else with_all_option(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a verb, or suggest the nearest."""
        if args and args[0] not in self.verbs and not args[0].startswith("-"):
            hint = nearest(args[0], self.verbs).replace("did", "Did")
            ctx.fail(f"No such command '{printable(args[0])}'.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview without importing any verb."""
        del ctx
        for heading, lines in self.headings.items():
            with formatter.section(heading):
                formatter.write_dl([*lines.items()], col_max=14)


def verb(*examples: str, **settings: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Return a decorator that makes a verb, with examples."""
    return click.command(cls=Command, examples=examples, **settings)


def group(*examples: str, **settings: Any) -> Callable[[Callable[..., Any]], Group]:
    """Return a decorator that makes a group, with examples; ``verbs`` are imported when called."""
    kind = Verbs if "verbs" in settings else Group
    return click.group(cls=kind, examples=examples, **settings)


@group(verbs=VERBS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="shroom")
def shroom() -> None:
    """Check, score and rank hallucination detectors on SHROOM and its relatives.

    Exit codes: 0 done; 1 the input is wrong; 2 the command line is wrong.
    """


class _Closed(io.TextIOBase):
    """Stands for a stdout that was closed, which would swallow a result without a word."""

    def write(self, text: str) -> int:
        """Refuse it."""
        del text
        raise ShroomError("stdout is closed, so this result is lost; send it to a file instead")


def main(command: click.Command = shroom, name: str = "shroom") -> None:
    """Run a command, and turn users' mistakes into sentences and exit codes."""
    if sys.stdout is None:
        sys.stdout = _Closed()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    if sys.stdout.isatty():
        TABLE_WIDTH.set(shutil.get_terminal_size().columns)
    sys.exit(run(command, sys.argv[1:], name))


def run(command: click.Command, args: list[str], name: str) -> int:
    """Return the exit code of a command line, and report errors on stderr."""
    Problems.show_all = False
    try:
        with plug_in_errors():
            result: Any = command.main(args=args, prog_name=name, standalone_mode=False)
    except InvalidInput as error:
        say(error.problems)
        return 1
    except ShroomError as error:
        click.echo(f"shroom: {printable(str(error))}", err=True)
        return 2 if isinstance(error, UnknownName) else 1
    except click.ClickException as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("shroom: interrupted; no result was written", err=True)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        click.echo(f"shroom: {place}{error.strerror or error}", err=True)
        return 1
    except RecursionError:
        click.echo("shroom: the input nests too deeply", err=True)
        return 1
    except MemoryError:
        click.echo("shroom: the input does not fit into memory", err=True)
        return 1
    return result if isinstance(result, int) else 0
