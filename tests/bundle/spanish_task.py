"""A shared task of three phases, with keys of its own: its edition, gold and submissions."""

import io
import json
import zipfile

from conftest import write_json

from shroom.scoring.editions.plain import from_plain

LABELS = ("Not Hallucination", "Hallucination")
_MARCH = {"start": "2027-03-01", "end": "2027-03-14"}
_PLAIN = {
    "name": "halu-es",
    "title": "Alucinaciones: ¿qué es 'verdad'?",
    "year": 2027,
    "contact": "task@example.org",
    "languages": ["es"],
    "splits": [{"name": "dev"}, {"name": "eval"}],
    "files": {"predictions": "{split}.json", "gold": "{split}.gold.json", "data": "{split}.d.json"},
    "item": {"id": "string", "keys": {"id": "clave", "hyp": "respuesta"}},
    "tasks": {"QA": {"title": "question answering"}, "SUM": {}},
    "metrics": ["accuracy", "brier"],
    "phases": [
        {"name": "Practice", "split": "dev", "start": "2027-01-10"},
        {"name": "Development", "split": "dev", "start": "2027-02-01", "per_day": 2, "total": 20},
        {"name": "Test", "split": "eval", **_MARCH, "blind": True},
    ],
}


def spanish(**changes):
    return from_plain({**_PLAIN, **changes})


def gold_rows(split, *, turned=False):
    """The gold of a split; turned, it has the other labels."""
    rows = []
    for index in range(40):
        votes = [(vote < index % 8) != turned for vote in range(7)]
        share = round(sum(votes) / 7, 9)
        row = {"clave": f"es-{split}-{index}", "respuesta": f"La respuesta {index}.", "tgt": ""}
        row |= {"src": f"¿Pregunta {index}?", "task": "QA" if index % 3 else "SUM"}
        row |= {"label": LABELS[share > 0.5], "labels": [LABELS[vote] for vote in votes]}
        rows.append({**row, "p(Hallucination)": share, "note": "turned" if turned else "secret"})
    return rows


def gold_folder(folder, **more):
    for split in ("dev", "eval"):
        write_json(folder / f"{split}.gold.json", gold_rows(split, **more))
    return folder


def submission(split, wrong=0):
    """A submission of which the first labels are wrong."""
    rows = []
    for index, row in enumerate(gold_rows(split)):
        is_yes = (row["label"] == LABELS[1]) != (index < wrong)
        p = round((0.6 if is_yes else 0.1) + index / 200, 4)
        rows.append({"clave": row["clave"], "label": LABELS[is_yes], "p(Hallucination)": p})
    return {f"{split}.json": json.dumps(rows)}


def unpacked(data):
    """The files of a zip by name; those of a zip in it are a dictionary, too."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    return {name: unpacked(it) if name.endswith(".zip") else it for name, it in files.items()}


def written(files, folder):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder
