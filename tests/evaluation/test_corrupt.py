"""Faithful items turned into inconsistent ones."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest
from conftest import DATA, write_json
from hypothesis import given
from hypothesis import strategies as st

from shroom.core.datapoint import TASKS, Datapoint, Label, Task
from shroom.core.problems import InvalidInput
from shroom.evaluation.corruption.corrupt import METHODS, corruptions, is_faithful
from shroom.evaluation.corruption.items import Edit, Item, Pool, normalised, read, tokens
from shroom.evaluation.corruption.number import in_words, quantities
from shroom.evaluation.corruption.wordlists import names, units, with_article
from shroom.scoring.datapoint_files import read as read_shroom

P = "p(Hallucination)"


def point(hyp, src="A premise that says other things.", tgt="", task=Task.PG, **more):
    return Datapoint(hyp=hyp, src=src, tgt=tgt, task=task, **{"p": 0.0, **more})


def edits(name, hyp, src="A premise that says other things.", tgt="", others=(), **more):
    """Return everything that a method could make of a hypothesis."""
    item = Item(point(hyp, src, tgt, **more))
    pool = Pool([item, *map(Item, others)], 0)
    return [edit.apply(hyp) for edit in METHODS.load(name)(item, pool)]


def some(*args, **more):
    """Return what edits does, which is not nothing."""
    found = edits(*args, **more)
    assert found
    return found


def corrupted(points, methods=tuple(METHODS), seed=0, *, even=False):
    """Return each corruption with its faithful datapoint."""
    made = corruptions([*map(Item, points)], methods, seed, even=even)
    return [(own, one) for own, of_item in zip(points, made, strict=True) for one in of_item]


POINTS = [
    point("Tom saw two old ships in Paris.", "Two ships, both old, were seen by Tom in Paris."),
    point("The bridge is open to cars.", "Cars may use the bridge."),
    point("It was not cold in March 1990.", "March 1990 was a warm month."),
    point("(rare) To sell 20 kg of wheat.", "", "To trade wheat, 20 kg of it.", Task.DM),
    point("(informal) A big hat.", "", "A hat of great size.", Task.DM),
    point("Anna has a cheap house near Rome.", "Das Haus bei Rom.", "Anna lives near Rome."),
]


def undone(edit, text):
    return Edit(edit.start, edit.start + len(edit.after), edit.after, edit.before).apply(text)


WORDS = [
    "Tom", "Paris", "is", "not", "two", "2", "hot", "a", "an", "old", "5km", "U.S.", "won't", "(",
    ")", "To", "1,000", "the", "third", ".", "?", "hundred", "99999999999999999999", "١٢", "²", "½",
    "猫", "ﬁ", "İ", "’s", "e\u0301", "a\u0308", "\ud800", "\u200b", "\x00",
]  # fmt: skip


TEXTS = st.one_of(st.text(), st.lists(st.sampled_from(WORDS)).map(" ".join))
HOSTILE = st.builds(point, TEXTS, TEXTS, task=st.sampled_from(list(TASKS.values())))


@given(st.lists(st.one_of(st.sampled_from(POINTS), HOSTILE), max_size=6), st.integers(0, 9))
def test_every_edit_can_be_undone_and_changes_the_text(points, seed):
    for own, one in corrupted(points, seed=seed):
        old, new = own.hyp, one.datapoint.hyp
        assert one.edit.apply(old) == new
        assert undone(one.edit, new) == old
        assert normalised(new) not in ("", normalised(old), normalised(own.src))
        changes = {"hyp": new, "label": Label.HALLUCINATION, "p": 1.0, "id": None, "labels": ()}
        assert one.datapoint == replace(own, **changes)


def drawn(given, seed, *methods):
    made = corrupted(given, methods or METHODS, seed)
    return {(own.hyp, one.method): one.datapoint.hyp for own, one in made}


@given(st.permutations(POINTS), st.integers(0, 5))
def test_draws_do_not_depend_on_the_order(points, seed):
    assert drawn(points, seed) == drawn(POINTS, seed) == drawn(POINTS + POINTS, seed)


def test_draws_depend_on_the_seed_and_most_on_the_item_only():
    by_seed = [drawn(POINTS, seed) for seed in range(10)]
    assert len({tuple(made.values()) for made in by_seed}) > 5
    for seed, whole in enumerate(by_seed):
        for (hyp, method), made in whole.items():
            if method != "pairing":
                (own,) = (one for one in POINTS if one.hyp == hyp)
                assert drawn([own], seed, method) == {(hyp, method): made}


NUMBERS = [
    ("It is 5km long.", "5km"), ("There are 1,200 cars.", "1,200"), ("It weighs 2.50 kg.", "2.50"),
    ("He came 21st today.", "21st"), ("In the 1990s he sang.", "1990"),
    ("We saw twenty-five cats.", "twenty-five"),
    ("It has two hundred and five rooms.", "two hundred and five"),
    ("This is the third time.", "third"), ("Seven cats came.", "Seven"),
    ("She left in 1987.", "1987"), ("It cost 3 million.", "3"),
    ("They won some and five and left.", "five"),
]  # fmt: skip


@pytest.mark.parametrize(("hyp", "number"), NUMBERS)
def test_numbers_keep_their_manner(hyp, number):
    before, after = hyp.split(number, 1)
    for text in some("number", hyp):
        assert text.startswith(before.rstrip("a "))
        assert text.endswith(after)
        old, new = quantities(tokens(hyp)), quantities(tokens(text))
        assert [one.style for one in old] == [one.style for one in new]
        assert [one.value for one in old] != [one.value for one in new]


@pytest.mark.parametrize(
    ("hyp", "src"),
    [
        ("I saw 2 cats.", "two four 3 dogs five 6 7 8"),
        ("I ran 4 km.", "He ran 4000 m and 5000 metres; 6,000 m; 2 km."),
        ("I have six cats.", "A couple, a dozen, 10, and 11."),
    ],
)
def test_no_number_of_the_texts_comes_in(hyp, src):
    there = {worth for one in quantities(tokens(src)) for worth in one.worth(one.number)}
    for text in some("number", hyp, src):
        (one,) = quantities(tokens(text))
        assert not there & one.worth(one.number)


@pytest.mark.parametrize(
    ("hyp", "allowed"),
    [
        *((it, lambda n: n > 100) for it in (
            "More than 100 cats came.", "At least 100 cats came.", "100 or more cats came.",
        )),
        *((it, lambda n: n < 100) for it in (
            "Fewer than 100 cats came.", "Up to 100 cats came.", "No more than 100 cats came.",
            "It won't take more than 100 cats.",
        )),
        ("Since 1990 it is so.", lambda n: n > 1990), ("In 2019.", lambda n: n <= 2025),
        ("About 100 cats came.", lambda n: abs(n - 100) >= 50),
        ("It was in the 19th century.", lambda n: n <= 21),
        ("In the twentieth century.", lambda n: n <= 21),
        ("On July 26 it rained.", lambda n: n <= 28), ("On 26 July it rained.", lambda n: n <= 28),
        ("The third biggest city.", lambda n: n >= 2),
    ],
)  # fmt: skip
def test_a_number_becomes_one_that_contradicts_and_can_be(hyp, allowed):
    made = [quantities(tokens(text))[0].value for text in some("number", hyp)]
    assert all(map(allowed, made))


@given(st.integers(0, 10**12 - 1))
def test_number_words_are_read_as_they_are_written(number):
    found = quantities(tokens(in_words(number)))
    assert [one.value for one in found] == [number]


NEGATED = [
    ("The door is open.", "The door is not open."), ("The door isn't open.", "The door is open."),
    ("The door is not open.", "The door is open."),
    ("The door won’t open.", "The door will open."), ("Tom cannot see.", "Tom can see."),
    ("Tom can see.", "Tom cannot see."), ("TOM CAN SEE.", "TOM CANNOT SEE."),
    ("It'll rain.", "It won't rain."), ("It's late.", "It's not late."),
    ("He has a dog.", "He does not have a dog."), ("He has gone.", "He has not gone."),
    ("To sing loudly.", "Not to sing loudly."), ("(rare) To sing.", "(rare) Not to sing."),
    ("THE DOOR IS OPEN.", "THE DOOR IS NOT OPEN."),
    ("It would have gone.", "It would not have gone."),
    ("It rained, but the door is open.", "It rained, but the door is not open."),
]  # fmt: skip


@pytest.mark.parametrize(("hyp", "made"), NEGATED)
def test_negation(hyp, made):
    assert edits("negation", hyp) == [made]


def test_what_speakers_say_of_themselves_in_a_dialogue_is_not_negated():
    assert edits("negation", "I can swim.", "I am here.") != []
    assert edits("negation", "I can swim.", "I am here.\nWho are you?\nI am Tom.") == []


@pytest.mark.parametrize(
    ("hyp", "src", "kind", "others"),
    [
        ("She left for Paris.", "She went to Rome from London.", "city", "Paris Rome London"),
        ("He was in England.", "He was there.", "country", "England"),
        # Other names of what is there.
        ("It is in France.", "It is in Scotland, near the USA border.", "country", "United"),
        ("We saw Mrs. Braxel.", "So.", "surname", "Braxel"),
        ("We saw Tom Braxel.", "So.", "surname", "Tom Braxel"),
    ],
)
def test_names_change_for_their_kind(hyp, src, kind, others):
    for text in some("entity", hyp, src):
        assert any(text.endswith(f" {group[0]}.") for group in names()[kind])
        assert not set(others.split()) & set(text.rstrip(".").split())


@pytest.mark.parametrize(
    ("method", "made"), [("entity", {"Warsaw", "John Klomp"}), ("number", {"1950"})]
)
def test_names_and_numbers_of_the_dialogue_come_first(method, made):
    knowledge = "It was in Warsaw in 1950 that Ann Brax met him and John Klomp, far from Paris."
    item = Item(point("She left for Paris with Tom Frobb in 1987.", "She left."), knowledge)
    edits = METHODS.load(method)(item, Pool([item], 0))
    assert {edit.after for edit in edits} == made


def test_names_keep_what_they_need_of_an_article():
    taken = {text[9:-1] for text in some("entity", "She left the United States.")}
    assert all(name.startswith("the ") == (name[4:] in with_article()) for name in taken)
    assert not taken & with_article()
    started = edits("entity", "The Netherlands won.")
    assert any(not text.startswith("The ") for text in started)
    bare = edits("entity", "She left for France.")
    assert not {text[13:-1] for text in bare} & with_article()
    attributive = edits("entity", "She saw US ships.")
    assert {text[8:-7] for text in attributive} <= with_article()


ENGLISH = [
    "Tom saw two ships.", "Sandy soil.", "We saw La Rambla and the Plaza del Sol in Spain.",
    "2 + 2 = 4", "To die.", "The war is over.", "",
]  # fmt: skip
FOREIGN = [
    "Die Katze ist nicht alt.", "Er war fast ein Mann mit Hut.",
    "Le chat n'est pas grand et il dort.", "El gato no es muy grande.", "Il gatto non è alto.",
    "De kat is niet oud.", "Katten är inte stor.", "Kissa ei ole vanha.", "Кошка не старая.",
    "猫は 1990 年に生まれた。", "बिल्ली 12 साल की है।", "القط ليس كبيرا 1990",
]  # fmt: skip


@pytest.mark.parametrize("hyp", ENGLISH + FOREIGN)
def test_rules_of_english_are_for_english(hyp):
    one = point(hyp, "Tom was in Paris in 1980 for 3 days.")
    other = point("Grüne Äpfel schmecken sauer heute früh.", "Apfel.")
    assert Item(one).is_english is (hyp in ENGLISH)
    made = {made.method for own, made in corrupted([one, other]) if own is one}
    assert hyp in ENGLISH or made <= {"pairing"}


LEFT_ALONE = {
    "number": [
        "A COVID-19 test.", "At 10:30 sharp.", "From 5–10 cats.", "In 2024-11-22 style.",
        "One of them.", "Half of it.", "Version 3.5.2 is out.", "http://a.b/12/x", "agent 007",
        "A thing.[3]", "A thing [1, 2].", "3. A thing", "2.", "a dozen", "²", "١٢",
        "The Big Ten won.", "Nineteen Eighty-Four is a novel.", "It was between 5 and half.",
        "A coin [from 20th c.] of gold.", "It has sense 2 here.", "It fell in the third half.",
        "The first cases came.",
    ],
    "negation": [
        "Is it open?", "Some doors are open.", "It may be open.", "Nobody is here.",
        "It is not only open.", "Tom's dog.", "A can of beer.", "He sings.", "I don't have any.",
        "That doesn't sound like very much fun.", "Yes, it is open.", "It can swim, too.",
        "If it is open, go.", "", "not", "n't", "I'm not sure, but it rains.",
        "I don't know, but it rained.", "It is red, but it rained.", "I am sorry.",
        "It can only rain.", "To see it, go there.", "They sang She Will Be There.",
        "I can't praise it enough.", "Because it was cold, they left.",
        "The old man, who was ill, left.", "I am tall.", "That's right! He left.",
        "It is also red.", 'They sang "That was the day" there.',
    ],
    "entity": [
        "Birds sing.", "I am here, and I'm glad.", "(UK) thing", "(UK, dated) A thing.",
        "May I come?", "Paris is Paris.", "all in small letters", "A Title Of Paris",
        "I like the Brax Bank.", "The Bank of England won.", "It is in Paris, Texas.",
        'They sang "Paris" there.', "Mr President, we left.", "Dr Pepper is sweet.",
        "He met J. Smith and Tom M. Brax.", "Frank words help.", "(chiefly, British)",
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("method", "hyp"), [(method, hyp) for method, hyps in LEFT_ALONE.items() for hyp in hyps]
)
def test_what_a_method_leaves_alone(method, hyp):
    assert edits(method, hyp) == []


def test_pairing_takes_a_like_and_unlike_one():
    fitting = point("Green apples taste sour today.", "Apples!")
    others = [
        fitting,
        point("Tom saw his big ships.", "Ships."),  # the same words
        point("No.", "No."),  # too short
        replace(fitting, hyp="Red pears taste sweet today.", task=Task.MT),  # another task
    ]
    hyp = "Tom saw two big ships."
    assert edits("pairing", hyp, "Ships, two of them.", others=others) == [fitting.hyp]
    assert edits("pairing", hyp, "Green apples taste sour today.", others=[fitting]) == []
    assert edits("pairing", hyp) == []


def test_what_is_said_faithfully_elsewhere_is_no_corruption():
    both = [point("The door is open.", "A door."), point("The  door is NOT open.", "A door.")]
    assert corrupted(both, ["negation"]) == []


OBJECTED = {"p": 0.0, "label": Label.HALLUCINATION}
ACCEPTED = {"p": None, "label": Label.NOT_HALLUCINATION}


@pytest.mark.parametrize(
    ("more", "assumed", "faithful"),
    [
        ({"p": 0.2}, False, True), ({"p": 0.4}, False, False), (OBJECTED, False, False),
        (ACCEPTED, False, True), ({"p": None}, False, False), ({"p": None}, True, True),
        ({"p": 0.9}, True, False), ({"src": "  "}, True, False), ({"hyp": " "}, True, False),
    ],
)  # fmt: skip
def test_what_is_faithful(more, assumed, faithful):
    one = replace(point("A cat."), **more)
    assert is_faithful(one, assume_faithful=assumed) is faithful


def test_balance():
    every, one_each = corrupted(POINTS), corrupted(POINTS, even=True)
    assert [own for own, _ in one_each] == list(dict(every))
    assert {one.edit for _, one in one_each} <= {one.edit for _, one in every}
    assert len({one.method for _, one in one_each}) > 1
    assert corrupted([]) == []


def test_word_lists():
    known = [name for groups in names().values() for group in groups for name in group]
    assert len(known) == len(set(known))
    assert with_article() <= set(known)
    assert units()["mile"].factor == Fraction(1609344, 1000)


UNLABELLED = {"hyp": "A.", "src": "B.", "task": "PG"}


@pytest.fixture
def corrupt(shroom):
    """Return a function that runs the verb, and returns what is on stdout and on stderr."""

    def call(*args):
        code, out, err = shroom("datasets", "corrupt", *args)
        assert code == 0, err
        return out, err

    return call


def rows_of(points):
    return [
        {"hyp": one.hyp, "src": one.src, "tgt": one.tgt, "task": one.task.name, P: one.p,
         "label": "Not Hallucination", "labels": ["Not Hallucination"]}
        for one in points
    ]  # fmt: skip


def test_the_command_writes_what_the_kit_reads(corrupt, tmp_path):
    data, out = write_json(tmp_path / "val.json", rows_of(POINTS)), tmp_path / "out.json"
    corrupt(data, "-o", out)
    rows, found = json.loads(out.read_text()), read_shroom(out)
    assert sum(one.p == 0 for one in found) == len(POINTS)
    for row in rows:
        of = row["corruption"]["of"]
        assert of["file"] == "val.json"
        if row["corruption"]["edit"]:
            edit = Edit(**row["corruption"]["edit"])
            assert undone(edit, row["hyp"]) == POINTS[of["index"]].hyp
        assert (row["label"] == "Hallucination") == (row["corruption"]["method"] is not None)


def test_all_references_count(corrupt, tmp_path):
    references = ["She has two cats at home.", "She has three cats, and five or seven dogs."]
    row = {"hyp": "She has two cats.", "src": "", "tgt": references, "task": "PG", P: 0.0}
    data, out = write_json(tmp_path / "val.json", [row]), tmp_path / "out.json"
    corrupt(data, "-o", out, "--method", "number")
    assert [one["tgt"] for one in json.loads(out.read_text())] == [references] * 2
    made = some("number", row["hyp"], "", references[0], other_tgts=(references[1],))
    assert not any("three" in text for text in made)


def dialogue(**changes):
    turns = [
        {"speaker": "0_Apprentice", "text": "Do you know Rome?",
         "retrieved_passages": [{"Warsaw": ["Warsaw lies on the Vistula."]}],
         "retrieved_topics": ["Warsaw"]},
        {"speaker": "1_Wizard", "text": "Yes, Rome is on the Tiber, since 753 BC.",
         "checked_sentence": {"chosen_Rome_0": "Rome was founded on the Tiber in 753 BC."},
         "checked_passage": {"chosen_topic_0_Rome": "Rome"}, "retrieved_passages": []},
        {"speaker": "0_Apprentice", "text": "Oh!"},
        {"speaker": "1_Wizard", "text": "Do you like it?",
         "checked_sentence": {"no_passages_used": "no_passages_used"}},
        {"speaker": "1_Wizard", "text": "Well.", "checked_sentence": {}},
    ]  # fmt: skip
    passage = ["Rome is a city.", "It burnt in 64."]
    whole = {"chosen_topic": "Rome", "persona": "I travel.", "wizard_eval": 5, "dialog": turns,
             "chosen_topic_passage": passage}  # fmt: skip
    return {**whole, **changes}


def test_dialogues_of_wizard_of_wikipedia(corrupt, tmp_path):
    path, out = write_json(tmp_path / "train.json", [dialogue()]), tmp_path / "out.json"
    (item,) = read(path)
    one = item.point
    assert one.hyp == "Yes, Rome is on the Tiber, since 753 BC."
    assert one.src == "Rome was founded on the Tiber in 753 BC.\nDo you know Rome?"
    assert (one.p, one.label, one.task) == (0.0, Label.NOT_HALLUCINATION, Task.TS)
    assert item.knowledge == "Rome is a city.\nIt burnt in 64.\nWarsaw lies on the Vistula."
    corrupt(path, "-o", out, "--method", "entity")
    assert json.loads(out.read_text())[1]["hyp"].startswith("Yes, Warsaw is on the Tiber")
    (odd,) = read(write_json(path, [dialogue(chosen_topic_passage=[None, {"x": 3}])]))
    assert odd.knowledge == "Warsaw lies on the Vistula."


@pytest.mark.parametrize("bad", [3, dialogue(dialog="no list"), dialogue(dialog=[{"text": 1}])])
def test_bad_dialogues_are_reported_with_their_place(tmp_path, bad):
    with pytest.raises(InvalidInput) as caught:
        read(write_json(tmp_path / "train.json", [dialogue(), bad]))
    (problem,) = caught.value.problems
    assert (problem.code, problem.index) == ("item-object", 1)


CATS = rows_of([point("Cats.")])


@pytest.mark.parametrize(
    ("rows", "options", "code", "message"),
    [
        ([], ["-o", "{d}.json"], 1, "expected at least one item"),
        ([UNLABELLED], ["-o", "{d}.json"], 1, "add --assume-faithful"),
        ([{**UNLABELLED, P: 1.0}], ["-o", "{d}.json"], 1, "is known to be faithful"),
        (CATS, ["-o", "{d}.json"], 1, "can be corrupted by pairing or entity"),
        (CATS, ["-o", "{d}.json", "--method", "number"], 1, "can be corrupted by number;"),
        (CATS, ["-o", "{d}"], 1, "is inside an input folder"),
        (CATS, ["-o", "{d}/new/c.json"], 1, "is inside an input folder"),
        (CATS, ["-o", "{d}/val.json"], 1, "val.json"),
        (CATS, ["-o", "{d}.csv"], 1, "the name must end in .json or .jsonl"),
        (CATS, ["-o", ""], 2, "the name is empty"),
    ],
)
def test_mistakes(refused, tmp_path, rows, options, code, message):
    folder = tmp_path / "d"
    before = write_json(folder / "val.json", rows).read_bytes()
    options = [option.format(d=folder) for option in options]
    assert message in refused("datasets", "corrupt", folder, *options, code=code)
    assert [path.name for path in tmp_path.rglob("*")] == ["d", "val.json"]
    assert (folder / "val.json").read_bytes() == before


@pytest.mark.parametrize("name", ["out.zip", ".out.json"])
def test_what_is_not_read_of_a_folder_may_lie_there(corrupt, tmp_path, name):
    write_json(tmp_path / "val.json", rows_of(POINTS))
    corrupt(tmp_path, "-o", tmp_path / name)
    assert (tmp_path / name).is_file()


def test_unlabelled_data_on_request(corrupt, tmp_path):
    rows = [{key: row[key] for key in ("hyp", "src", "tgt", "task")} for row in rows_of(POINTS)]
    data = write_json(tmp_path / "train.json", rows)
    out, _ = corrupt(data, "-o", "-", "--assume-faithful")
    assert {row[P] for row in json.loads(out)} == {0.0, 1.0}


REAL = {
    "val.model-agnostic.json": (203, [203, 22, 2, 52]),
    "val.model-aware.v2.json": (206, [206, 16, 30, 68]),
}


@pytest.mark.real
@pytest.mark.parametrize("file", REAL)
def test_real_data(file):
    points = [one for one in read_shroom(DATA / "semeval2024" / file) if is_faithful(one)]
    found, again = corrupted(points), corrupted(points[::-1])
    count = [sum(one.method == name for _, one in found) for name in METHODS]
    assert (len(points), count) == REAL[file]
    assert {(own.hyp, one.edit) for own, one in found} == {
        (own.hyp, one.edit) for own, one in again
    }
