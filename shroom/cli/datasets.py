"""``shroom datasets``: a group of commands, each imported when it is called."""

from __future__ import annotations

from shroom.cli import group


@group(
    prefix="datasets_",
    verbs={
        "Commands": {
            "describe": "Describe the files of a data set.",
            "convert": "Convert a data set to SHROOM's format.",
            "fetch": "Download the public files of a data set.",
            "corrupt": "Make faithful items inconsistent, and record every edit.",
        }
    },
)
def command() -> None:
    """Describe, convert, download and corrupt data sets.

    Examples
    --------
    shroom datasets describe felm felm/all.jsonl
    shroom datasets convert felm felm/all.jsonl -o felm.json
    shroom datasets corrupt val.model-agnostic.json -o corrupted.json
    """
