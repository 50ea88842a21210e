"""Scores as JUnit's XML, which continuous integration shows as tests.

A submission that can be scored passes the test ``check``, and each score is a test that passes, or
is skipped where the score is undefined; whether it is good enough is not for the kit to say.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

if TYPE_CHECKING:
    from shroom.datasets.native_scores import NativeResult, NativeScore
    from shroom.scoring.results import Score, TrackScore

#: What XML 1.0 cannot have.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def passed(score: Score | NativeScore) -> str:
    """Return the tests of a submission that was scored.

    Examples
    --------
    >>> import shroom
    >>> text = passed(shroom.score("shroom/sample", "shroom/sample"))
    >>> text.count("<testsuite "), text.count("<testcase ")
    (3, 5)
    """
    warnings = "\n".join(score.to_dict()["warnings"])
    root = _checked("system-err", warnings)
    for result in score.results:
        _suite(root, result)
    return _text(root)


def failed(message: str) -> str:
    """Return the one test of a submission that cannot be scored.

    Examples
    --------
    >>> '<failure message="p is missing">p is missing' in failed("p is missing")
    True
    """
    return _text(_checked("failure", message, message=message.partition("\n")[0]))


def _checked(tag: str, text: str, **attributes: str) -> Element:
    """Return the tests of which the first is whether a submission is valid."""
    root = Element("testsuites", name="shroom score")
    case = _case(_new_suite(root, "shroom"), "check")
    if text:
        SubElement(case, tag, _clean(attributes)).text = _ILLEGAL.sub("?", text)
    return root


def _suite(root: Element, result: TrackScore | NativeResult) -> None:
    words = vars(result)
    names = [*words.get("part", {}).values(), words.get("split"), words.get("track")]
    suite = _new_suite(root, " ".join(filter(None, names)) or "scores")
    properties = SubElement(suite, "properties")
    plain = {key: value for key, value in result.to_dict().items() if isinstance(value, (int, str))}
    for name, value in plain.items():
        SubElement(properties, "property", _clean({"name": name, "value": str(value)}))
    for name, score in result.scores.items():
        case = _case(suite, name)
        if score is None:
            SubElement(case, "skipped", message="undefined")
            continue
        interval = result.intervals.get(name)
        text = f"{score!r}" + (f" [{interval[0]!r}, {interval[1]!r}]" if interval else "")
        floors = (f"{floor}: {scores.get(name)}" for floor, scores in result.floors.items())
        SubElement(case, "system-out").text = _ILLEGAL.sub("?", "\n".join((text, *floors)))


def _new_suite(root: Element, name: str) -> Element:
    return SubElement(root, "testsuite", _clean({"name": name}))


def _case(suite: Element, name: str) -> Element:
    return SubElement(suite, "testcase", _clean({"classname": suite.attrib["name"], "name": name}))


def _clean(attributes: dict[str, str]) -> dict[str, str]:
    return {key: _ILLEGAL.sub("?", value) for key, value in attributes.items()}


def _text(root: Element) -> str:
    """Return the XML, in which each suite has the number of its tests."""
    for suite in root:
        for key, tag in (("tests", "testcase"), ("failures", "failure"), ("skipped", "skipped")):
            suite.set(key, str(sum(1 for _ in suite.iter(tag))))
    indent(root)
    text: str = tostring(root, "utf-8", xml_declaration=True).decode()
    return f"{text}\n"
