"""The structure of the package, beyond the contracts that ``make lint`` checks."""

import re
import runpy
import subprocess
import sys
from graphlib import TopologicalSorter

import grimp
from conftest import ROOT


def test_no_module_imports_itself_through_others():
    graph = grimp.build_graph("shroom", cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the modules


def test_lines_of_code_are_counted(tmp_path):
    code = '"""One line."""\n\nimport a\n\n\ndef f():\n    # why\n    return {\n        1,\n    }\n'
    (tmp_path / "a.py").write_text(code)
    found = runpy.run_path(str(ROOT / ".ci" / "count.py"))["count"](tmp_path / "a.py")
    assert found == {"lines": 10, "code": 4, "docstrings": 1, "imports": 1, "modules": 1}


def test_the_page_on_the_architecture_names_modules_that_exist():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    packages = "core|metrics|scoring|inference|detectors|prediction|report|cli"
    names = re.findall(rf"`((?:{packages})[./][a-z_]+)(?:\.py)?`", page)
    assert len(names) > 20
    for name in names:
        path = ROOT / "shroom" / name.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file(), name


WITHOUT_EXTRAS = """
import importlib, pathlib, sys
absent = '''
datasets datasketch google jieba jinja2 jsonschema matplotlib narwhals num2words onnx onnxruntime
openai pandas pooch ray requests sacrebleu safetensors scipy sentence_transformers sklearn spacy
text_to_num tokenizers torch transformers typing_extensions yaml
'''.split()
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
for path in sorted(pathlib.Path("shroom").rglob("*.py")):
    name = ".".join(path.with_suffix("").parts).replace(".__init__", "")
    if name not in ("shroom.__main__", "shroom.score"):
        try:
            importlib.import_module(name)
        except ImportError:
            print(name)
"""


def test_every_module_but_those_of_training_imports_without_the_extras():
    command = [sys.executable, "-c", WITHOUT_EXTRAS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    training = ("fitting", "pair_model")
    assert done.stdout.split() == [f"shroom.detectors.cross_encoder.{name}" for name in training]
