"""The codes of problems: the severity of each, and how to fix it."""

from __future__ import annotations

from typing import NamedTuple

ERROR = "error"
WARNING = "warning"


class Code(NamedTuple):
    """The severity of a problem code, and how to fix the problem."""

    severity: str
    fix: str


_COPY = "; 'shroom check' says if --fix can correct it"
#: What to do instead of a fix, with options of verbs that the scoring program does not have.
OPTIONS = {
    code: f", or specify {what}: --{option} of 'shroom check' or 'shroom score', {option}= in "
    f"Python{more}"
    for code, what, option, more in (
        ("file-name", "your edition", "edition", ""),
        ("key-missing", "your own key", "columns", f", [item] keys in an edition{_COPY}"),
        ("label-value", "your own words", "labels", f", [annotation] labels in an edition{_COPY}"),
        ("column-name", "your own names", "columns", f", [item] keys in an edition{_COPY}"),
    )
} | {"order-texts": "; 'shroom check --fix' restores the order if the texts of the rows allow it"}
_CHARACTERS = (
    "count characters as Python does: an emoji is 1 character, but 2 UTF-16 units and 4 bytes"
)
_ERRORS = {
    "file-unreadable": "check the path and its permissions",
    "not-a-file": "submit the file itself, not a link to it",
    "zip-broken": "create the zip again, and compare its size before and after the upload",
    "zip-encrypted": "create the zip again without a password",
    "zip-method": "create the zip again with the standard method (deflate)",
    "zip-nested": "put the .json files directly into the zip, not into a zip inside it",
    "zip-members": "zip only the prediction files",
    "too-large": "submit only the prediction files, without the texts",
    "too-many": "correct the errors listed, then check the file again",
    "absurd-ratio": "zip only the prediction files; this file looks like a zip bomb",
    "gzip-broken": "compress the file again, or submit it uncompressed",
    "file-format": "save the file as JSON, JSON Lines or CSV",
    "no-file": "add the files, or use the folder or zip that contains them",
    "file-name": "rename the file so that its name contains its split and track",
    "file-twice": (
        "keep only one file per track; if these are several submissions, specify each one "
        "(FOLDER/*)"
    ),
    "gold-first": (
        "if this file is the gold, put it last; otherwise, remove the votes (the key labels)"
    ),
    "no-gold": "use gold that contains this split and track",
    "not-utf8": "save the file as UTF-8",
    "not-json": (
        "write the file with a JSON library, such as Python's json; if it is a CSV file, use the "
        "ending .csv"
    ),
    "not-csv": "write the file with a CSV library, such as Python's csv, with the header first",
    "not-a-list": "write a list with one object per item",
    "empty": "use a file that has rows: JSON objects, or lines below a CSV header",
    "other-form": (
        "use files in the expected format, or use a command that reads the format of this file"
    ),
    "item-object": 'write one JSON object per item, as DataFrame.to_json(orient="records") does',
    "key-missing": "add or rename the key in every item",
    "label-value": "use exactly these words",
    "word-value": "use one of the expected words in exactly this spelling",
    "span-value": "write each span in the expected form, with offsets in characters of the text",
    "p-number": "write p as a plain number such as 0.75",
    "p-finite": "use a number between 0 and 1",
    "p-range": (
        "scale p to [0, 1] (divide percentages by 100); if p is outside this range only because "
        "of rounding, clip p"
    ),
    "id-missing": "copy the id of each datapoint from the data file",
    "id-integer": "copy the id exactly as it is in the data file",
    "id-value": "copy the id exactly as it is in the data file",
    "id-doubled": "use each id only once",
    "text-string": "write the text as a JSON string",
    "task-value": "use one of the edition's tasks",
    "premise-missing": "add a text as src or tgt, or remove the datapoint",
    "ref-value": 'use "src", "tgt" or "either", or omit the key',
    "count": "write exactly one prediction per datapoint",
    "ids-missing": "predict every datapoint of the data file",
    "id-unknown": "check that the predictions belong to this split, track and language",
    "order-texts": "keep the order of the data file",
    "gold-unlabelled": (
        "use a file with gold labels; in SHROOM's format, each item has the keys label and "
        "p(Hallucination)"
    ),
    "official": "follow the format of the organisers' 2024 programs, or remove --official",
    "splits-mixed": "limit the gold or the submission to one split",
}
_WARNINGS = {
    "file-ignored": "remove the file, or pass it directly",
    "run-record": "remove the record, or run shroom predict again",
    "encoding": "save the file as UTF-8; the kit can only guess any other encoding",
    "column-name": "rename the columns",
    "key-unknown": "correct the spelling, or remove the key",
    "key-doubled": "use each key only once; the last value counts",
    "span-text": _CHARACTERS,
    "span-utf16": _CHARACTERS,
    "span-bytes": _CHARACTERS,
    "span-past-end": (
        "correct the end of the span; characters after the end of the text are ignored"
    ),
    "span-empty": "remove the span, which marks no characters",
    "span-overlap": "write spans that do not overlap",
    "span-odd": "correct the spans in the source data; until then, the field is ignored",
    "id-string": "write the id as a number, without quotes",
    "value-finite": "use an empty string, or omit the key",
    "label-p": (
        "check that p is the probability of Hallucination; ignore this warning if the system uses "
        "a threshold other than 0.5"
    ),
    "label-constant": "check the threshold",
    "p-constant": "give each item its own p; the rank correlation of a constant p is undefined",
    "label-inverted": "swap the two labels",
    "p-inverted": "replace p with 1 - p in every item",
    "p-reversed": (
        "recompute p so that higher values mean Hallucination; do not write 1 - p, which would "
        "round different values to the same number"
    ),
    "p-confidence": (
        "if p is the confidence in the predicted label, replace p with 1 - p in all items labelled "
        "Not Hallucination; if label-inverted is also reported, swap the labels first"
    ),
    "label-against-p": (
        "either swap the labels, or replace p with 1 - p in every item; --gold may show which "
        "correction is right"
    ),
    "in-sample": "score other items, or use out-of-fold predictions",
    "order": "keep the order of the data file",
    "row-object": "write one JSON object per row; anything else is ignored",
    "row-value": "add the value; without it, the row is ignored",
    "row-width": "write as many fields as the header has; until then, the row is ignored",
    "row-track": "use one of the edition's tracks; until then, the row is ignored",
    "row-ranking": "use questions that have generations; until then, the row is ignored",
    "text-odd": "use a string",
    "list-odd": "use a list of the expected form",
    "object-odd": "use an object",
    "number-odd": "use a number of the expected form",
    "word-odd": "use one of the expected words",
    "ref-odd": 'use "src", "tgt" or "either", or omit the key',
    "id-odd": "use an id of the expected form",
    "id-repeated": "give each row its own id",
    "length-odd": "use the expected number of values",
    "answer-empty": "check the row: its text is empty",
    "segment-empty": "check the row: it has an empty segment",
    "judgement-missing": "add the judgement",
    "query-odd": "check the query",
    "vote-odd": 'write the text that the annotator marked, or "|" if nothing is marked',
    "row-doubled": "keep only one of the rows",
    "swapped": "if this file is the gold, put it last",
    "label-votes": "check which value is right; the gold's label is used for scoring",
    "p-votes": "check which value is right; the gold's p is used for scoring",
    "gold-skipped": "to score this file as well, provide labelled gold for it; "
    "if the file is unlabelled test data, ignore this warning",
    "rho-undefined": (
        "do not give all items the same p; if p is constant in the gold, ignore this warning"
    ),
    "track-missing": "submit predictions for this track too if you want to be ranked on it",
}
#: All codes, in the order of the documentation.
CODES: dict[str, Code] = {
    **{code: Code(ERROR, fix + OPTIONS.get(code, "")) for code, fix in _ERRORS.items()},
    **{code: Code(WARNING, fix + OPTIONS.get(code, "")) for code, fix in _WARNINGS.items()},
}
