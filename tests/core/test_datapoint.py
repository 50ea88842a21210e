"""Which text a hypothesis is held against: the design's table, row by row."""

import pytest

from shroom.core.datapoint import TASKS, Datapoint, Reference, Rule, premises, references
from shroom.core.problems import ShroomError

SRC, TGT = "the source", "the target"

#: Task (with + of a multilingual detector), ref, the texts that there are, and those chosen.
TABLE = """
DM tgt st t; DM src st s; DM either st st; DM - st t; DM+ - st t; DM - s s; MT either st t;
MT+ either st st; MT - st t; MT+ - st st; MT+ tgt st t; MT - s s; MT+ - s_ s; PG src st s;
PG tgt st t; PG either st st; PG either s s; PG - st st; PG - s s; PG tgt s s; TS src st s;
TS tgt st t; TS either st st; TS - st s; TS+ - st s; TS - t t
"""
TEXTS = {"s": SRC, "t": TGT, "_": "  "}


@pytest.mark.parametrize("case", [it.strip() for it in TABLE.split(";")])
def test_premises(case):
    task, ref, there, chosen = case.split()
    src, tgt = (TEXTS[it] if it in there else "" for it in "st")
    tgt = tgt or ("  " if "_" in there else "")
    own = None if ref == "-" else Reference(ref)
    point = Datapoint("a text", src=src, tgt=tgt, task=TASKS[task[:2]], ref=own)
    assert premises(point, multilingual="+" in task) == tuple(map(TEXTS.get, chosen))
    assert len(references(point, multilingual="+" in task)) == len(chosen)


@pytest.mark.parametrize(
    ("task", "src", "read"),
    [
        ("DM", "A <define> small cat </define> sat", "A small cat sat"),
        ("DM", "<define>Cat</define>.", "Cat."),
        ("DM", "She is\n<define>  quick </define>", "She is\nquick"),
        ("PG", "A <define> cat </define> sat", "A <define> cat </define> sat"),
    ],
)
def test_the_source_of_a_definition_comes_without_marks(task, src, read):
    for given in ({"rule": Rule.SRC}, {"rule": Rule.BOTH}):
        point = Datapoint(hyp="a text", src=src, tgt=TGT, task=TASKS[task])
        assert premises(point, **given)[0] == read
    assert premises(Datapoint(hyp="a text", src=src, tgt="", task=TASKS[task])) == (read,)


@pytest.mark.parametrize("task", list(TASKS))
def test_both_sides_empty_names_the_datapoint(task):
    with pytest.raises(ShroomError, match="id 17"):
        premises(Datapoint(hyp="a text", src="", tgt=" ", task=task, id=17))
    with pytest.raises(ShroomError, match="a text"):
        premises(Datapoint(hyp="a text", src="", tgt="", task=task))
