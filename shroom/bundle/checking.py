"""Checking what Codabench would refuse of a bundle."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shroom.bundle.contents import Contents, opened
from shroom.bundle.rules import RULES, Competition
from shroom.bundle.yaml_files import parsed_yaml
from shroom.core.printing import printable, show
from shroom.core.problems import ShroomError

FILE = "competition.yaml"
#: Bytes of a ``competition.yaml``; no competition needs more.
MAX_YAML = 1 << 20
#: Breaches of one rule that are reported.
_MOST = 20


@dataclass(frozen=True)
class Findings:
    """What a check of a bundle finds.

    Attributes
    ----------
    refused : list of str
        A line for each reason for which the platform refuses the bundle.
    warnings : list of str
        A line for each thing that the platform takes, but that its organiser hardly means.
    """

    refused: list[str]
    warnings: list[str]


def check(source: str | os.PathLike[str] | bytes, file: str = "the bundle") -> Findings:
    """Return what Codabench would refuse of a bundle, whoever made it.

    Parameters
    ----------
    source : path or bytes
        A zip, or a folder with what would be zipped.
    file : str
        Name of the bundle in messages, where it is not a path.

    Raises
    ------
    ShroomError
        If there is no such file, or the packages that read YAML are missing.
    """
    contents = opened(source, file)
    findings = _of(contents)
    problems = [line for line in contents.problems.lines() if not line.startswith("  ")]
    return Findings([*problems, *findings.refused], findings.warnings)


def _of(contents: Contents) -> Findings:
    place = f"{contents.file}/{FILE}"
    if contents.problems.errors:
        return Findings([], [])
    if FILE not in contents.names:
        near = [name for name in contents.names if name.endswith(f"/{FILE}")]
        got = f"{show(near[0])}; zip the files, not their folder" if near else "none"
        return Findings([f"{contents.file}: expected {FILE} at its top, got {got} [yaml]"], [])
    data = contents.read(FILE)
    if data is None:
        return Findings([], [])
    if len(data) > MAX_YAML:
        return Findings([f"{place}: expected at most {MAX_YAML} bytes, got {len(data)} [yaml]"], [])
    try:
        described = parsed_yaml(data.decode("utf-8"))
    except UnicodeDecodeError:
        return Findings([f"{place}: expected UTF-8, got other bytes [yaml]"], [])
    except ShroomError as error:
        return Findings([f"{place}: {error} [yaml]"], [])
    if not isinstance(described, Mapping):
        return Findings([f"{place}: expected keys and values, got {show(described)} [yaml]"], [])
    if described.get("version") not in (2, "2"):
        got = show(described["version"]) if "version" in described else "none"
        return Findings(
            [f"{place}: version: expected 2, got {got}; no other is checked [competition.version]"],
            [],
        )
    return broken_rules(described, contents, place)


def broken_rules(described: Mapping[str, Any], contents: Contents, place: str = FILE) -> Findings:
    """Return the breaches of the rules by a competition of version 2.

    Parameters
    ----------
    described : mapping
        What ``competition.yaml`` describes.
    contents : Contents
        The files beside it.
    place : str
        Name of ``competition.yaml`` in messages.
    """
    competition = Competition(described, contents)
    findings = Findings([], [])
    for rule in RULES.values():
        lines = [printable(f"{place}: {at}: {text}") for at, text in rule.check(competition)]
        if len(lines) > _MOST:
            lines[_MOST:] = [f"{place}: and {len(lines) - _MOST} more"]
        listed = findings.refused if rule.refused else findings.warnings
        listed += [f"{line} [{rule.name}]" for line in lines]
    return findings
