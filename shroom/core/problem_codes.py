"""The codes of what can be wrong with a submission: how grave each is, and how to fix it."""

from __future__ import annotations

from typing import NamedTuple

ERROR = "error"
WARNING = "warning"


class Code(NamedTuple):
    """The severity of a problem code, and how to fix the problem."""

    severity: str
    fix: str


#: Every code that the kit can give, in the order in which the documentation lists them.
CODES: dict[str, Code] = {
    # the container
    "file-unreadable": Code(ERROR, "check the path and its permissions"),
    "not-a-file": Code(ERROR, "hand in the file itself, not a link to it"),
    "zip-broken": Code(ERROR, "make the zip again and compare its size after the upload"),
    "zip-encrypted": Code(ERROR, "make the zip again without a password"),
    "zip-method": Code(ERROR, "make the zip again with the ordinary method (deflate)"),
    "zip-nested": Code(ERROR, "zip the .json files themselves, not a zip of them"),
    "zip-members": Code(ERROR, "zip the prediction files only"),
    "too-large": Code(ERROR, "hand in the prediction files only, without the texts"),
    "too-many": Code(ERROR, "correct what is listed, then check the file again"),
    "absurd-ratio": Code(ERROR, "zip the prediction files only; this looks like a zip bomb"),
    "gzip-broken": Code(ERROR, "compress the file again, or hand it in uncompressed"),
    "file-format": Code(ERROR, "write JSON, JSON Lines or CSV"),
    "no-file": Code(ERROR, "put the files into it, or name the place that has them"),
    "file-name": Code(ERROR, "rename it as expected, after its split and track"),
    "file-twice": Code(ERROR, "keep one file for each track"),
    "file-ignored": Code(WARNING, "leave it out, or name it by itself"),
    "no-gold": Code(ERROR, "name the gold that has this split and track"),
    "run-record": Code(WARNING, "leave it out, or run shroom predict again"),
    # the bytes
    "not-utf8": Code(ERROR, "save the file as UTF-8"),
    "not-json": Code(ERROR, "write the file with a JSON library (json.dump)"),
    "not-csv": Code(ERROR, "write the file with a CSV library (csv.writer), a header first"),
    "encoding": Code(WARNING, "save the file as UTF-8; other encodings are guessed"),
    "column-name": Code(
        WARNING, "name the columns as expected, or yours by --columns of check and score"
    ),
    "not-a-list": Code(
        ERROR,
        "write a list with an object for each datapoint",
    ),
    "empty": Code(ERROR, "name a file that has rows: JSON objects, or lines below a CSV header"),
    "other-form": Code(ERROR, "name files in SHROOM's form, or the command that takes this one"),
    # the items
    "item-object": Code(
        ERROR, 'write one JSON object for each item, as DataFrame.to_json(orient="records") does'
    ),
    "key-missing": Code(
        ERROR,
        "give each item the key, or name yours by --columns KEY=YOURS of check and score",
    ),
    "key-unknown": Code(WARNING, "correct its spelling, or leave it out"),
    "key-doubled": Code(WARNING, "write each key once; the last counts"),
    "label-value": Code(
        ERROR, "write the label exactly so, or name yours by --labels of check and score"
    ),
    "word-value": Code(ERROR, "write one of the expected words exactly so"),
    "span-value": Code(ERROR, "write each span in whole characters of the text"),
    "span-text": Code(
        WARNING, "count characters, as Python does: an emoji is one, of 2 UTF-16 units and 4 bytes"
    ),
    "p-number": Code(ERROR, "write p as a JSON number"),
    "p-finite": Code(ERROR, "write a number between 0 and 1"),
    "p-range": Code(ERROR, "scale p into [0, 1], or clip it where only rounding is beyond"),
    "id-missing": Code(ERROR, "copy the id of each datapoint from the data file"),
    "id-integer": Code(ERROR, "copy the id as the data file has it"),
    "id-value": Code(ERROR, "copy the id as the data file has it"),
    "id-string": Code(WARNING, "write the id as a number, without quotes"),
    "id-doubled": Code(ERROR, "give each id once"),
    "value-finite": Code(WARNING, "write an empty string or leave the key out"),
    "text-string": Code(ERROR, "write the text as a JSON string"),
    "task-value": Code(ERROR, "write one of the edition's tasks"),
    "premise-missing": Code(ERROR, "give src or tgt a text, or leave the datapoint out"),
    "ref-value": Code(ERROR, "write src, tgt or either, or leave the key out"),
    # the items together
    "count": Code(ERROR, "predict each once, and nothing else"),
    "ids-missing": Code(ERROR, "predict every datapoint of the data file"),
    "id-unknown": Code(
        ERROR, "check that the file belongs to these data: split, track or language"
    ),
    "order-texts": Code(
        ERROR, "keep the order of the data file; check --fix restores it, if the texts show it"
    ),
    "label-p": Code(WARNING, "check the threshold, and that p is the probability of Hallucination"),
    "label-constant": Code(WARNING, "check the threshold"),
    "p-constant": Code(WARNING, "give each item its own p: a constant has no rank correlation"),
    "label-inverted": Code(WARNING, "exchange the two labels"),
    "p-inverted": Code(WARNING, "replace p by 1 - p on every item"),
    "p-reversed": Code(
        WARNING, "write p anew, higher where it is lower now: 1 - p would make different p equal"
    ),
    "p-confidence": Code(
        WARNING,
        "if p is the confidence in the item's own label, replace it by 1 - p on the items labelled "
        "Not Hallucination only; exchange the labels before, if that is advised as well",
    ),
    "label-against-p": Code(
        WARNING,
        "exchange the labels, or replace p by 1 - p on every item, not both; --gold shows which",
    ),
    "in-sample": Code(WARNING, "score it on other items, or with predictions out of fold"),
    "order": Code(WARNING, "keep the order of the data file"),
    # the native forms of other data sets
    "row-dropped": Code(WARNING, "leave the row out, or correct it in the source"),
    "row-odd": Code(WARNING, "look at the row; it is used all the same"),
    "row-doubled": Code(WARNING, "keep one of the rows; both are used"),
    # the gold
    "swapped": Code(WARNING, "name the submission first and the gold last, unless they are"),
    "gold-unlabelled": Code(
        ERROR, "name a file whose items have labels: in SHROOM's form, label and p(Hallucination)"
    ),
    "label-votes": Code(WARNING, "see which is right in the gold; scores go by its label"),
    "p-votes": Code(WARNING, "see which is right in the gold; scores go by its p"),
    "gold-skipped": Code(WARNING, "to score it as well, name labelled gold for it"),
    # the organisers' 2024 program
    "official": Code(ERROR, "see the organisers' rules of 2024"),
    "splits-mixed": Code(ERROR, "name the gold of one split, or hand in one split"),
    "rho-undefined": Code(WARNING, "see p-constant; on the platforms rho is written as 0"),
    "track-missing": Code(WARNING, "hand in both tracks to be ranked on both"),
}
