"""Items in another language than a detector's: how they are recognised, and counted in a note."""

import json

import pytest
from conftest import DATA, SAMPLE, write_json
from tiny_models import encoder, nli_model

from shroom.core.datapoint import premises
from shroom.detectors.languages import is_foreign
from shroom.inference import hub
from shroom.scoring.datapoint_files import read

FOREIGN = [
    *("東京は日本の首都です。", "서울은 대한민국의 수도이다.", "La capitale de l'Italie est Rome."),
    *("La capital de Italia es Roma.", "Rom ist die Hauptstadt von Italien."),
    *("Rooma on Italian pääkaupunki, ja se on suuri.", "Řím je hlavní město Itálie."),
    *("Ρώμη είναι η πρωτεύουσα", "روما عاصمة إيطاليا", "रोम इटली की राजधानी है"),
]
ENGLISH = [
    *("Rome is the capital of Italy.", "To say 你好 to a friend.", "Señor Peña", "El Niño"),
    *("Vincent van Gogh, Juan de la Cruz, Los Angeles and Das Boot", "et al.", "", "1998"),
    *("pH 7.4 (20 °C)", "x² + y² = 1"),
]


def test_texts_in_other_languages_and_english_ones():
    assert [text for text in FOREIGN if not is_foreign(text, ("en",))] == []
    assert [text for text in ENGLISH if is_foreign(text, ("en",))] == []


@pytest.mark.parametrize(
    ("languages", "foreign"),
    [(("de",), {"en", "ru"}), (("ru", "uk"), {"en", "de"}), (("de", "en"), {"ru"})],
)
def test_other_languages_may_be_expected(languages, foreign):
    texts = {
        "en": "The city is in the north.",
        "de": "Die Stadt ist im Norden, und sie ist alt.",
        "ru": "Город на севере.",
    }
    assert {code for code, text in texts.items() if is_foreign(text, languages)} == foreign


@pytest.mark.parametrize(
    ("card", "codes"),
    [
        ("---\nlanguage: en\nlicense: mit\n---\n# A model", ("en",)),
        ("---\nlanguage:\n- en\n- de\ntags:\n- fr\n---\n", ("de", "en")),
        ('---\ntags: [x]\nlanguage: ["sv", en]\n---\n', ("en", "sv")),
        ("---\nlanguage: multilingual\n---\n", ()),
        ("---\nlicense: mit\n---\nlanguage: en", ()),
        ("language: en", ()),
        ("", ()),
        (None, ()),
    ],
)
def test_the_languages_of_a_card(tmp_path, card, codes):
    if card is not None:
        (tmp_path / "README.md").write_text(card, encoding="utf-8")
    assert hub.languages([str(tmp_path)], [None]) == codes


@pytest.fixture
def data(tmp_path):
    texts = [*FOREIGN[:3], *ENGLISH[:2]]
    rows = [{"hyp": text, "src": text, "tgt": text, "task": "PG"} for text in texts]
    return write_json(tmp_path / "val.model-agnostic.json", rows)


@pytest.mark.parametrize("name", ["nli", "similarity"])
def test_items_in_other_languages_are_counted(name, data, tmp_path, shroom):
    folder = {"nli": nli_model, "similarity": encoder}[name](tmp_path / "model")
    for card, n in (("en", 3), ("ja", 4), (None, 0)):
        if card:
            (folder / "README.md").write_text(f"---\nlanguage: {card}\n---\n", encoding="utf-8")
        else:
            (folder / "README.md").unlink()
        code, out, err = shroom("predict", name, data, "--model", folder, "-o", "-")
        assert code == 0
        assert len(json.loads(out)) == 5
        note = f"val.model-agnostic.json: p may be unreliable for {n} of 5 items, because"
        assert (note in err) == (n > 0)
        assert ("p may be unreliable" in err) == (n > 0)


@pytest.mark.parametrize("given", [[], ["lexical"]])
def test_the_shipped_models(given, data, shroom, noted):
    err = noted("predict", *given, data, "-o", "-")
    note = "3 of 5 items, because the model reads only en"
    assert (note in err) == (not given)
    assert "p may be unreliable" not in shroom("predict", *given, SAMPLE, "-o", "-")[2]


@pytest.mark.real
def test_english_data_give_no_false_alarm():
    names = ("val.model-agnostic", "val.model-aware.v2", "test.model-agnostic", "test.model-aware")
    points = [p for n in names for p in read(str(DATA / "semeval2024" / f"{n}.json"))]
    texts = [text for point in points for text in (point.hyp, *premises(point))]
    lines = (DATA / "felm" / "all.jsonl").read_text(encoding="utf-8").strip().split("\n")
    texts += [str(json.loads(line)["response"]) for line in lines]
    assert len(points) == 4000
    assert [text for text in texts if is_foreign(text, ("en",))] == []


#: The least share of Mu-SHROOM's answers of val that are recognised, in percent.
RECOGNISED = dict(ar=100, hi=98, zh=98, fr=98, es=94, sv=90, de=84, it=84, fi=76)  # noqa: C408


@pytest.mark.real
@pytest.mark.parametrize("language", [*RECOGNISED, "en"])
def test_answers_of_mushroom_are_recognised(language):
    path = DATA / "mushroom2025" / f"mushroom.{language}-val.v2.extra.jsonl"
    lines = path.read_text(encoding="utf-8").strip().split("\n")
    answers = [json.loads(line)["model_output_text"] for line in lines]
    share = 100 * sum(is_foreign(text, ("en",)) for text in answers) / len(answers)
    assert share >= RECOGNISED.get(language, 0)
    assert language != "en" or share == 0
