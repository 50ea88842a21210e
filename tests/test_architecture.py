"""The structure of the package, beyond the contracts that ``make lint`` checks."""

import re
import runpy
from graphlib import TopologicalSorter

import grimp
from conftest import ROOT


def test_no_module_imports_itself_through_others():
    graph = grimp.build_graph("shroom", cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the modules


def test_the_counts_add_up(capsys):
    runpy.run_path(str(ROOT / ".ci" / "count.py"))["main"](ROOT)
    rows = [line.split() for line in capsys.readouterr().out.replace(",", "").splitlines()[1:-2]]
    *packages, whole = ([int(figure) for figure in figures] for _, *figures in rows)
    assert [sum(column) for column in zip(*packages)] == whole


def test_the_page_on_the_architecture_names_modules_that_exist():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    names = re.findall(r"`((?:core|metrics|scoring|inference|detectors|prediction)\.\w+)", page)
    assert len(names) > 20
    for name in names:
        path = ROOT / "shroom" / name.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file(), name
    for path in re.findall(
        r"`((?:core|metrics|scoring|inference|detectors|report)/\w+\.py)`", page
    ):
        assert (ROOT / "shroom" / path).is_file(), path
