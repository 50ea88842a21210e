"""The ``shroom`` command: one module for each verb, imported when it is called."""

from __future__ import annotations

import importlib
import shutil
import sys
from functools import partial
from inspect import cleandoc
from itertools import chain
from textwrap import indent
from typing import Any, Callable

import click

from shroom.cli.output import say
from shroom.core.printing import TABLE_WIDTH, printable_lines
from shroom.core.problems import (
    InvalidInput,
    Problems,
    ShroomError,
    UnknownName,
    printable,
)
from shroom.core.registry import plug_in_errors
from shroom.core.version import __version__

#: The verbs under the headings of the overview, each with its line there.
VERBS = {
    "Submissions": {
        "check": "Report every problem in a submission.",
        "score": "Score a submission against the gold.",
        "compare": "Test which differences between submissions are significant.",
        "leaderboard": "Rank all submissions in a folder, with confidence intervals.",
        "report": "Describe submissions on a page, in a figure or in a table of items.",
    },
    "Detectors": {
        "predict": "Run a detector and write its submission.",
        "fit": "Fit a detector on labelled data.",
        "evaluate": "Evaluate detectors on data sets.",
        "explain": "Show which words of a hypothesis raise or lower p(Hallucination).",
        "calibrate": "Fit or apply a calibrator and a threshold.",
        "ensemble": "Combine several submissions into one.",
        "rate": "Estimate the share of hallucinations in unlabelled outputs.",
    },
    "Data": {"datasets": "Describe, convert, fetch or corrupt a data set."},
    "Annotation": {"annotate": "Generate, score and rank answers, and train a probe."},
    "Organisers": {
        "edition": "Write, show and check the rules of a shared task.",
        "gold": "Check gold labels, measure agreement, or compare gold versions.",
        "bundle": "Build the competition bundle for Codabench.",
    },
    "Reference": {"list": "List detectors, metrics, data sets or editions."},
}


#: The headings under which the help shows options that several verbs share, with the names of these
#: options. All other options come first.
OPTION_GROUPS = {
    "Input": "gold data edition columns labels track split",
    "Detector": "model settings threshold folds in_sample",
    "Scores": "by metrics metric official trials",
    "Intervals": "no_ci confidence resamples interval_seed interval",
    "Run": "precision batch_tokens device resume no_cache max_cost dry_run engine address workers",
    "Output": "form output html all help",
}


def _with_examples(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a command: its summary, and its examples below the options."""
    text, _, lines = cleandoc(settings["help"] or "").partition("\n\nExamples\n--------\n")
    examples = f"\b\nExamples:\n{indent(lines, '  ')}" if lines else ""
    parts = filter(None, [examples, settings.get("epilog")])
    summary = text.partition("\n\n")[0]
    return {**settings, "short_help": summary, "help": text, "epilog": "\n\n".join(parts)}


def _show_all(_ctx: click.Context, _param: click.Parameter, value: object) -> None:
    Problems.show_all = bool(value)


_ALL = click.Option(
    ["--all"],
    is_flag=True,
    expose_value=False,
    callback=_show_all,
    help=(
        "Show every problem. By default, each error code is shown up to 3 times, and each "
        "warning code once."
    ),
)


class Command(click.Command):
    """A verb whose help shows options in groups, and examples; ``reads_data`` adds ``--all``."""

    def __init__(self, *args: Any, reads_data: bool = True, **settings: Any) -> None:
        super().__init__(*args, **_with_examples(settings))
        self.params += [_ALL] if reads_data else []
        for option in self.params:
            if isinstance(option, click.Option) and option.show_default is None:
                option.show_default = True

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        headings = {word: name for name, words in OPTION_GROUPS.items() for word in words.split()}
        groups: dict[str, list[tuple[str, str]]] = {"Options": [], **{h: [] for h in OPTION_GROUPS}}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            word = "help" if "--help" in param.opts else str(param.name)
            if record is not None:
                groups[headings.get(word, "Options")].append(record)
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


class Group(click.Group):
    """Verbs below a verb."""

    command_class = Command

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **_with_examples(settings))


class Verbs(click.Group):
    """The verbs under headings, whose modules are imported when a verb is called."""

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands:
            return None
        command: click.Command = importlib.import_module(f"shroom.cli.{cmd_name}").command
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview without importing the verbs."""
        for heading, lines in VERBS.items():
            with formatter.section(heading):
                formatter.write_dl([*lines.items()], col_max=14)


verb = partial(click.command, cls=Command)


def group(**settings: Any) -> Callable[[Callable[..., Any]], Group]:
    return click.group(cls=Group, **settings)


@click.command(
    cls=Verbs,
    commands=[*map(click.Command, chain(*VERBS.values()))],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="shroom")
def shroom() -> None:
    """Check, score and rank hallucination detectors on SHROOM and related tasks.

    Exit codes: 0 success; 1 invalid input; 2 invalid command line.
    """


def main(command: click.Command = shroom, name: str = "shroom") -> None:
    """Run a command, and turn users' mistakes into sentences and exit codes."""
    if sys.stdout is None:
        sys.exit("shroom: stdout is closed; write the result to a file, and stdout to /dev/null")
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
            result: Any = command.main(args=args, prog_name=name, standalone_mode=False, obj=args)
    except InvalidInput as error:
        say(error.problems)
    except click.ClickException as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        say(["shroom: interrupted; no result was written"])
        return 130
    except BrokenPipeError:
        sys.stderr.close()
    except (ShroomError, OSError, RecursionError, MemoryError) as error:
        say(f"shroom: {_sentence(error)}".split("\n"))
        return 2 if isinstance(error, UnknownName) else 1
    else:
        return result if isinstance(result, int) else 0
    return 1


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return printable(f"{place}{error.strerror or error}")
    if isinstance(error, RecursionError):
        return "the input is nested too deeply"
    if isinstance(error, MemoryError):
        return "the input does not fit into memory"
    return printable_lines(str(error))
