"""The notebooks of the documentation run, and show what is stored in them."""

import nbformat
import pytest
from conftest import ROOT
from nbmake.nb_run import NotebookRun

PATHS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def shown(notebook):
    """Return what each cell shows: texts as they are, of a picture that there is one."""
    return [
        [
            {kind: kind == "image/png" or text for kind, text in output["data"].items()}
            if "data" in output
            else output["text"]
            for output in cell.outputs
        ]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_is_stored_in_it(path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    done = NotebookRun(path, 300).execute()
    assert done.error is None
    assert shown(done.nb) == shown(nbformat.read(path, as_version=4))
