"""Which text a hypothesis is held against: the design's table, row by row."""

import pytest

from shroom.core.datapoint import TASKS, Datapoint, Reference, Rule, premises, references
from shroom.core.problems import ShroomError

SRC, TGT = "the source", "the target"

#: task, ref, multilingual, src, tgt -> what is chosen
TABLE = [
    ("DM", "tgt", False, SRC, TGT, (TGT,)),
    ("DM", "src", False, SRC, TGT, (SRC,)),
    ("DM", "either", False, SRC, TGT, (SRC, TGT)),
    ("DM", None, False, SRC, TGT, (TGT,)),
    ("DM", None, True, SRC, TGT, (TGT,)),
    ("DM", None, False, SRC, "", (SRC,)),
    ("MT", "either", False, SRC, TGT, (TGT,)),
    ("MT", "either", True, SRC, TGT, (SRC, TGT)),
    ("MT", None, False, SRC, TGT, (TGT,)),
    ("MT", None, True, SRC, TGT, (SRC, TGT)),
    ("MT", "tgt", True, SRC, TGT, (TGT,)),
    ("MT", None, False, SRC, "", (SRC,)),
    ("MT", None, True, SRC, "  ", (SRC,)),
    ("PG", "src", False, SRC, TGT, (SRC,)),
    ("PG", "tgt", False, SRC, TGT, (TGT,)),
    ("PG", "either", False, SRC, TGT, (SRC, TGT)),
    ("PG", "either", False, SRC, "", (SRC,)),
    ("PG", None, False, SRC, TGT, (SRC, TGT)),
    ("PG", None, False, SRC, "", (SRC,)),
    ("PG", "tgt", False, SRC, "", (SRC,)),
    ("TS", "src", False, SRC, TGT, (SRC,)),
    ("TS", "tgt", False, SRC, TGT, (TGT,)),
    ("TS", "either", False, SRC, TGT, (SRC, TGT)),
    ("TS", None, False, SRC, TGT, (SRC,)),
    ("TS", None, True, SRC, TGT, (SRC,)),
    ("TS", None, False, "", TGT, (TGT,)),
]


@pytest.mark.parametrize(("task", "ref", "multilingual", "src", "tgt", "chosen"), TABLE)
def test_premises(task, ref, multilingual, src, tgt, chosen):
    point = Datapoint(hyp="a text", src=src, tgt=tgt, task=TASKS[task], ref=ref and Reference(ref))
    assert premises(point, multilingual=multilingual) == chosen
    assert len(references(point, multilingual=multilingual)) == len(chosen)


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
