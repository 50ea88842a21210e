"""The ``competition.yaml`` of Codabench, made from an edition."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from shroom.bundle.phases import Dated
from shroom.scoring.editions.competition import MAX_KEY
from shroom.scoring.editions.edition import Edition
from shroom.scoring.kinds.registry import kind_of, ranking_metrics

#: An image with Python 3.9 and numpy, which is what the scoring program needs.
IMAGE = "codalab/codalab-legacy:py39"
#: Digits that the leaderboards show.
PRECISION = 4
#: The scoring program of blind phases.
BLIND = "scoring_program_blind.zip"
_LONGEST_TITLE = 36
_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)+")


def columns(edition: Edition, tracks: Collection[str]) -> list[dict[str, Any]]:
    """Return the columns of the leaderboard, in the order in which they rank and break ties.

    Parameters
    ----------
    edition : Edition
        The shared task.
    tracks : collection of str
        The tracks that the gold has labels of; the others have no columns, unless the edition
        lists its columns itself.
    """
    names = tuple(metric.name for metric in ranking_metrics(edition))
    listed: list[dict[str, Any]] = []
    for column in edition.platform_columns(names):
        if column.track in tracks or edition.columns:
            metric = kind_of(edition).metric(column.metric, edition)
            title = column.title or column.key
            own = {
                "title": title if len(title) <= _LONGEST_TITLE else column.key,
                "key": column.key,
                "sorting": "desc" if metric.higher_is_better else "asc",
                "precision": PRECISION,
            }
            listed.append({**own, "hidden": True} if column.hidden else own)
    return [{"index": index, **column} for index, column in enumerate(listed)]


def with_means(columns: Sequence[dict[str, Any]], edition: Edition) -> list[dict[str, Any]]:
    """Return the columns after those of the means over tracks, which Codabench computes."""
    names = [metric.name for metric in ranking_metrics(edition)]
    if not edition.average or edition.columns or len(columns) <= len(names):
        return list(columns)
    size = len(names)
    means = [
        {
            **columns[place],
            "title": f"Mean {name}"[:_LONGEST_TITLE],
            "key": f"mean_{name}"[:MAX_KEY],
            "computation": "avg",
            "computation_indexes": list(range(size + place, size + len(columns), size)),
        }
        for place, name in enumerate(names)
    ]
    return means + [{**column, "index": size + column["index"]} for column in columns]


def program_of(phase: Dated) -> str:
    """Return the name of a phase's scoring program: that of a blind one shows no scores."""
    return BLIND if phase.phase.blind else "scoring_program.zip"


def codabench(
    edition: Edition,
    phases: Sequence[Dated],
    pages: Iterable[tuple[str, str]],
    tracks: Collection[str],
) -> dict[str, Any]:
    """Return a competition of Codabench, version 2.

    Parameters
    ----------
    edition : Edition
        The shared task.
    phases : sequence of Dated
        Its phases.
    pages : iterable of (str, str)
        The title and the file of each page; one of them is titled Terms.
    tracks : collection of str
        The tracks that the gold has labels of.
    """
    files = dict(pages)
    contact = {"contact_email": edition.contact} if _EMAIL.fullmatch(edition.contact) else {}
    return {
        "version": 2,
        "title": edition.title,
        "description": edition.description or description(edition),
        "image": "logo.png",
        "registration_auto_approve": True,
        "enable_detailed_results": True,
        "docker_image": edition.docker_image or IMAGE,
        **({"queue": edition.queue} if edition.queue else {}),
        **contact,
        "terms": files.pop("Terms"),
        "pages": [{"title": title, "file": file} for title, file in files.items()],
        "tasks": [
            {
                "index": index,
                "name": phase.phase.name,
                "description": phase.phase.about,
                "is_public": False,
                "reference_data": f"reference_data_{phase.phase.split}.zip",
                "scoring_program": program_of(phase),
            }
            for index, phase in enumerate(phases)
        ],
        "phases": [_phase(index, phase) for index, phase in enumerate(phases)],
        "leaderboards": [
            {
                "index": 0,
                "title": "Results",
                "key": "main",
                "submission_rule": edition.submission_rule,
                "columns": with_means(columns(edition, tracks), edition),
            }
        ],
    }


def _phase(index: int, phase: Dated) -> dict[str, Any]:
    about, is_day = phase.phase, phase.start.time() == dt.time()
    described: dict[str, Any] = {
        "index": index,
        "name": about.name,
        "description": about.about,
        # Codabench reads a time that is not quoted as the midnight before it, and ignores zones.
        "start": phase.start.date() if is_day else f"{phase.start:%Y-%m-%d %H:%M:%S}",
    }
    if phase.end:
        described["end"] = f"{phase.end:%Y-%m-%d %H:%M:%S}"
    described["max_submissions_per_day"] = about.per_day
    described["max_submissions"] = about.total
    if about.blind:
        # Only the output that has the scores: what the program prints says why it refuses one.
        described["hide_score_output"] = True
    return {**described, **_downloads(about.split), "tasks": [index]}


def _downloads(split: str) -> dict[str, str]:
    return {"public_data": f"public_data_{split}.zip", "starting_kit": "starting_kit.zip"}


def description(edition: Edition) -> str:
    """Return the competition in one sentence."""
    what = {
        "binary": "Is this text a hallucination?",
        "aspects": "What is wrong with this text?",
        "spans": "Where does this text hallucinate?",
        "labelled-spans": "Where does this text hallucinate, and how?",
    }[edition.annotation.kind]
    return f"{what} A shared task on detecting fluent overgeneration."
