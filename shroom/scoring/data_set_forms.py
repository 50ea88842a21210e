"""Data sets recognised by the keys of the first rows of a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from shroom.scoring.rows import P

#: Keys of SHROOM's format: a row of data, gold or predictions has at least one of them.
_OWN = frozenset(("hyp", "label", P))


#: The keys of each kind of row of a data set. A row with all these keys belongs to the first such
#: data set.
DATA_SETS = {
    "semeval2024": ("hyp task",),
    "mushroom2025": ("model_output_text",),
    "felm": ("segmented_response",),
    "verifiability": (
        "attribution_label",
        "statements_to_citation_texts",
        "annotation citations",
        "source_supports_statement",
    ),
    "factual_consistency": ("model_type decoding knowledge response",),
    "dreamcatcher": ("question answer generation", "query preference"),
    "ragtruth": ("source_id labels quality response", "source_id task_type source_info prompt"),
    "halueval": (
        "right_answer hallucinated_answer",
        "right_response hallucinated_response",
        "right_summary hallucinated_summary",
        "user_query chatgpt_response hallucination",
    ),
    "queries": ("prompt_text", "query"),
}
#: Likewise the keys of editions whose gold is of no data set.
EDITIONS = {
    "cap2025": ("index has_factual_mistakes has_fluency_mistakes",),
    "visions2026": ("id response labels raw_annots",),
}
#: The data sets that ``shroom score`` accepts as gold.
_SCORED = ("mushroom2025", "felm")
#: The commands for data sets that are not only converted to SHROOM's format.
_COMMANDS = {
    "felm": (
        "to judge its segments, run 'shroom predict judge FILE'; to convert it for other "
        "detectors, run 'shroom datasets convert felm'"
    ),
    "queries": "to read it, run 'shroom datasets describe queries'",
}


def another_form(row: Mapping[str, Any]) -> str | None:
    """Return the other format of a row, in words; ``None`` for SHROOM's or an unknown format."""
    if row.keys() & _OWN:
        return None
    name = form_of(row.keys())
    if name is None:
        return None
    command = _COMMANDS.get(name, f"'shroom datasets convert {name}' converts it")
    if name in _SCORED:
        command = f"'shroom score' accepts it as gold; {command}"
    return f"the format of {name} ({command})"


def form_of(keys: Iterable[str], forms: Mapping[str, tuple[str, ...]] = DATA_SETS) -> str | None:
    """Return the name of the data set (or other format in ``forms``) with these keys."""
    there = set(keys)
    return next(
        (name for name, own in forms.items() if any(there.issuperset(it.split()) for it in own)),
        None,
    )
