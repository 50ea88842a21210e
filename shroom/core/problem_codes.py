"""The codes of what can be wrong with a submission: how grave each is, and how to fix it."""

from __future__ import annotations

from typing import NamedTuple

ERROR = "error"
WARNING = "warning"


class Code(NamedTuple):
    """The severity of a problem code, and how to fix the problem."""

    severity: str
    fix: str


_CHARACTERS = "count characters, as Python does: an emoji is one, of 2 UTF-16 units and 4 bytes"
_ERRORS = {
    "file-unreadable": "check the path and its permissions",
    "not-a-file": "hand in the file itself, not a link to it",
    "zip-broken": "make the zip again and compare its size after the upload",
    "zip-encrypted": "make the zip again without a password",
    "zip-method": "make the zip again with the ordinary method (deflate)",
    "zip-nested": "zip the .json files themselves, not a zip of them",
    "zip-members": "zip the prediction files only",
    "too-large": "hand in the prediction files only, without the texts",
    "too-many": "correct what is listed, then check the file again",
    "absurd-ratio": "zip the prediction files only; this looks like a zip bomb",
    "gzip-broken": "compress the file again, or hand it in uncompressed",
    "file-format": "write JSON, JSON Lines or CSV",
    "no-file": "put the files into it, or name the place that has them",
    "file-name": "rename it as expected, after its split and track",
    "file-twice": "keep one file for each track",
    "no-gold": "name the gold that has this split and track",
    "not-utf8": "save the file as UTF-8",
    "not-json": "write the file with a JSON library (json.dump)",
    "not-csv": "write the file with a CSV library (csv.writer), a header first",
    "not-a-list": "write a list with an object for each datapoint",
    "empty": "name a file that has rows: JSON objects, or lines below a CSV header",
    "other-form": "name files in SHROOM's form, or the command that takes this one",
    "item-object": (
        'write one JSON object for each item, as DataFrame.to_json(orient="records") does'
    ),
    "key-missing": (
        "give each item the key, or name yours by --columns KEY=YOURS of check and score"
    ),
    "label-value": "write the label exactly so, or name yours by --labels of check and score",
    "word-value": "write one of the expected words exactly so",
    "span-value": "write each span in whole characters of the text",
    "p-number": "write p as a JSON number",
    "p-finite": "write a number between 0 and 1",
    "p-range": "scale p into [0, 1], or clip it where only rounding is beyond",
    "id-missing": "copy the id of each datapoint from the data file",
    "id-integer": "copy the id as the data file has it",
    "id-value": "copy the id as the data file has it",
    "id-doubled": "give each id once",
    "text-string": "write the text as a JSON string",
    "task-value": "write one of the edition's tasks",
    "premise-missing": "give src or tgt a text, or leave the datapoint out",
    "ref-value": "write src, tgt or either, or leave the key out",
    "count": "predict each once, and nothing else",
    "ids-missing": "predict every datapoint of the data file",
    "id-unknown": "check that the file belongs to these data: split, track or language",
    "order-texts": "keep the order of the data file; check --fix restores it, if the texts show it",
    "gold-unlabelled": (
        "name a file whose items have labels: in SHROOM's form, label and p(Hallucination)"
    ),
    "official": "see the organisers' rules of 2024",
    "splits-mixed": "name the gold of one split, or hand in one split",
}
_WARNINGS = {
    "file-ignored": "leave it out, or name it by itself",
    "run-record": "leave it out, or run shroom predict again",
    "encoding": "save the file as UTF-8; other encodings are guessed",
    "column-name": "name the columns as expected, or yours by --columns of check and score",
    "key-unknown": "correct its spelling, or leave it out",
    "key-doubled": "write each key once; the last counts",
    "span-text": _CHARACTERS,
    "span-utf16": _CHARACTERS,
    "span-bytes": _CHARACTERS,
    "span-past-end": "let the span end within the text; its characters in it count",
    "span-empty": "leave the span out: it marks nothing",
    "span-overlap": "write spans that do not overlap",
    "span-odd": "correct the spans in the source; the field is left out",
    "id-string": "write the id as a number, without quotes",
    "value-finite": "write an empty string or leave the key out",
    "label-p": "check the threshold, and that p is the probability of Hallucination",
    "label-constant": "check the threshold",
    "p-constant": "give each item its own p: a constant has no rank correlation",
    "label-inverted": "exchange the two labels",
    "p-inverted": "replace p by 1 - p on every item",
    "p-reversed": "write p anew, higher where it is lower now: 1 - p would make different p equal",
    "p-confidence": (
        "if p is the confidence in the item's own label, replace it by 1 - p on the items "
        "labelled Not Hallucination only; exchange the labels before, if that is advised as "
        "well"
    ),
    "label-against-p": (
        "exchange the labels, or replace p by 1 - p on every item, not both; --gold shows which"
    ),
    "in-sample": "score it on other items, or with predictions out of fold",
    "order": "keep the order of the data file",
    "row-object": "write one JSON object for each row; others are left out",
    "row-value": "give the row the value, or leave the row out, as is done here",
    "row-width": "write as many fields as the header has; the row is left out",
    "row-track": "name one of the edition's tracks; the row is left out",
    "row-ranking": "name questions with generations; the row is left out",
    "text-odd": "write a text",
    "list-odd": "write a list as expected",
    "object-odd": "write an object",
    "number-odd": "write a number as expected",
    "word-odd": "write one of the expected words",
    "split-unknown": "name a split of the data set; the row is used all the same",
    "system-unknown": "name a system of the data set; the row is used all the same",
    "ref-odd": "write src, tgt or either, or leave the key out",
    "id-odd": "write an id as expected; the row is used all the same",
    "id-repeated": "give each row an id of its own; the row is used all the same",
    "length-odd": "write as many values as expected; the row is used all the same",
    "answer-empty": "look at the row: its text is empty, and it is used all the same",
    "segment-empty": "look at the row: a segment is empty, and it is used all the same",
    "judgement-missing": "add the judgement; the row is used all the same",
    "rank-unknown": "rank the generations of the row; the row is used all the same",
    "query-odd": "look at the query; it is used all the same",
    "vote-odd": "write what the annotator marked, or the word for nothing",
    "row-doubled": "keep one of the rows; both are used",
    "swapped": "name the submission first and the gold last, unless they are",
    "label-votes": "see which is right in the gold; scores go by its label",
    "p-votes": "see which is right in the gold; scores go by its p",
    "gold-skipped": "to score it as well, name labelled gold for it",
    "rho-undefined": "see p-constant; on the platforms rho is written as 0",
    "track-missing": "hand in both tracks to be ranked on both",
}
#: Every code that the kit can give, in the order in which the documentation lists them.
CODES: dict[str, Code] = {
    **{code: Code(ERROR, fix) for code, fix in _ERRORS.items()},
    **{code: Code(WARNING, fix) for code, fix in _WARNINGS.items()},
}
