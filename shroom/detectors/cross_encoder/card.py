"""The card of a fitted model: what it is, what it has learnt from, how good it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def card(about: Mapping[str, Any]) -> str:
    """Return the card as Markdown, from the content of ``about.json``."""
    return "\n".join(_lines(about)) + "\n"


def _lines(about: Mapping[str, Any]) -> Iterator[str]:
    recipe = about["recipe"]
    yield "# A cross-encoder for p(Hallucination)"
    yield ""
    yield "Reads a reference and a hypothesis together and returns how likely people are to call"
    yield "the hypothesis a hallucination. English; made for SHROOM's tasks (definitions,"
    yield "translations, paraphrases, simplifications). The kit writes this card."
    yield ""
    yield f"- **Weights** {about['weights']}, from the encoder `{recipe['encoder']}`"
    yield f"- **Made by** `{about.get('command', 'fit')}`, seed {recipe['seed']}"
    if about.get("seconds"):
        yield (
            f"- **Time** {about['seconds'] / 3600:.1f} hours on {about['machine']}, without "
            "what was kept of earlier runs; energy was not measured"
        )
    if about.get("note"):
        yield f"- **Note** {about['note']}"
    yield "- **Form** ONNX graph with 7-bit matrices and 8-bit embeddings; runs with onnxruntime"
    yield ""
    yield from _figures(about)
    yield from _data(recipe.get("stages") or [], recipe.get("stop"))
    yield "## Limits"
    yield ""
    yield "- It judges support by the reference alone: what is true, but not in the reference, is a"
    yield "  hallucination to it, as it was to SHROOM's annotators."
    yield f"- It reads {about['room']} tokens of a pair; of longer ones not the reference's end."
    yield "- English on both sides. It has seen no source language of a translation."
    yield "- By default it computes with its integers, and p depends on the version of onnxruntime"
    yield "  and on the processor. For the model that ships with the kit, p on val differed between"
    yield "  onnxruntime 1.16.3 and 1.32.0 by .0026 on average and .034 at most, and 4 of 1000"
    yield "  labels changed. `--precision float32` took 2.8 times as long; p differed by .000003."
    yield "- It has learnt the mean of a few annotators, who agree little: on SHROOM's val their"
    yield "  alpha is .33 to .37. None of SHROOM's public data are of the task TS."


def _figures(about: Mapping[str, Any]) -> Iterator[str]:
    figures = about.get("out_of_fold")
    if not figures:
        return
    yield "## Figures"
    yield ""
    yield f"By {about['folds']}-fold cross-validation, data with the same hypothesis in one fold;"
    yield "the number of epochs was chosen by the same folds:"
    yield ""
    yield "| data | n | accuracy | rho |"
    yield "|---|---|---|---|"
    for base, figure in figures.items():
        rho = "–" if figure["rho"] is None else f"{figure['rho']:.3f}"
        yield f"| {base} | {figure['n']} | {figure['accuracy']:.3f} | {rho} |"
    yield ""


def _data(stages: list[Mapping[str, Any]], stop: int | None) -> Iterator[str]:
    corpora = [corpus for stage in stages for corpus in stage.get("corpora", ())]
    yield "## Data"
    yield ""
    for stage in stages:
        shown = {
            key: stage[key] for key in ("n", "epochs", "batch", "rate", "frozen") if key in stage
        }
        settings = ", ".join(f"{key} {value}" for key, value in shown.items())
        yield f"- stage `{stage['name']}`: {settings or 'as by default'}"
        if stage.get("teacher"):
            files = ", ".join(stage["unlabelled"])
            yield f"  – taught by `{stage['teacher']}` on {files}"
    if stop:
        yield f"- the last stage was stopped after {stop} epochs, as cross-validation advised"
    yield "- stages without corpora or a teacher learn from the labelled data of the command above;"
    yield "  those of SHROOM are under CC-BY-SA-4.0"
    yield ""
    if corpora:
        yield "| corpus | as | at most | licence as stated |"
        yield "|---|---|---|---|"
        for corpus in corpora:
            part = f" ({', '.join(corpus['only'])})" if corpus.get("only") else ""
            licence = corpus.get("licence", "not stated")
            yield f"| {corpus['file']}{part} | {corpus['task']} | {corpus['n']} | {licence} |"
        yield ""
