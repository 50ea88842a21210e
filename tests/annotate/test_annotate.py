"""Annotating generations: rankers, the config, runs that are killed, and people's judgements."""

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import DATA, write_lines
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy import stats
from sklearn import metrics as sk

from shroom.annotate.base import SCORERS, Scorer, score, value_of, with_scores
from shroom.annotate.config import Config
from shroom.annotate.generations import read
from shroom.annotate.human_agreement import Agreement, Agreements, agreement, read_judgements
from shroom.annotate.rankers import SCORES, Length, Percentile
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.core.registry import Entry
from shroom.datasets import dreamcatcher
from shroom.datasets.dreamcatcher import Generation, Question
from shroom.metrics.intervals import NO_INTERVALS, Intervals
from shroom.scoring.tables import Estimate


def asked(number=0, texts=("It is so.", "It is not."), refusals=1, **scores):
    """Return a question with normal generations and refusals; scores are lists over the former."""
    said = [
        Generation(text, "normal", **{name: values[i] for name, values in scores.items()})
        for i, text in enumerate(texts)
    ]
    said += [
        Generation(f"I do not know {i}.", "uncertainty", rm_score=float(i)) for i in range(refusals)
    ]
    return Question(f"Question {number}?", "It is so.", "made up", tuple(said))


def rows_of(questions):
    return [dreamcatcher.to_dict(question) for question in questions]


class Counting(Scorer):
    """A scorer that gives the length of a text, and notes what it is asked for."""

    name = "counting"
    fields = ("rm_score", "words")
    identity = "counting 1"

    def __init__(self, fail: str = "", log: str = "") -> None:
        self.fail, self.log = fail, log

    def score(self, items, run):
        del run
        for item in items:
            question, _, generations, place = item
            text = generations[place][0]
            if self.log:
                with Path(self.log).open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps([question, place]) + "\n")
            if self.fail and self.fail in text:
                yield item, ShroomError("it was told to fail")
            else:
                yield item, {"rm_score": float(len(text)), "words": len(text.split())}


@pytest.fixture
def counting(monkeypatch):
    monkeypatch.setitem(SCORERS, "counting", Entry(f"{__name__}:Counting", "counts"))


# rankers


def outcome(question, right, wrong):
    """Return the category and the ranked texts, of the best refusal and of these generations."""
    refusals = [g for g in question.generation if g.type == "uncertainty"]
    best = [right, max(refusals, key=lambda g: g.rm_score), wrong]
    word = "all-right" if not wrong else "partial-right" if right else "all-wrong"
    return word, [g.text for g in best if g]


def naive_percentile(questions, names, up, down):
    """Return categories and ranked texts, written out once more in plain loops."""
    every = [g for q in questions for g in q.generation]
    scaled, high, low = {}, {}, {}
    for name in names:
        values = [getattr(g, name) for g in every if getattr(g, name) is not None]
        if not values or max(values) == min(values):
            continue
        least, span = min(values), max(values) - min(values)
        scaled[name] = lambda g, name=name, a=least, b=span: (getattr(g, name) - a) / b
        unit = [(value - least) / span for value in values]
        high[name], low[name] = np.percentile(unit, up), np.percentile(unit, down)
    found = []
    for question in questions:
        said = [g for g in question.generation if g.type == "normal"]
        sums = [sum(scaled[name](g) for name in scaled) for g in said]
        best, worst = int(np.argmax(sums)), int(np.argmin(sums))
        right = said[best] if sums[best] > sum(high.values()) else None
        wrong = said[worst] if sums[worst] < sum(low.values()) else None
        found.append(outcome(question, right, wrong))
    return found


@given(
    st.integers(0, 10**6),
    st.integers(1, 8),
    st.sampled_from([(70, 30), (50, 50), (100, 0), (55, 45)]),
)
def test_percentile_equals_plain_loops(seed, n, limits):
    rng = np.random.default_rng(seed)
    questions = [
        asked(
            i,
            [f"{i} {j}" for j in range(3)],
            2,
            **{name: np.round(rng.random(3), 2).tolist() for name in SCORES},
        )
        for i in range(n)
    ]
    ranked = Percentile(*limits).rank(questions)
    found = [(q.category, [g.text for g in q.rank]) for q in ranked.questions]
    assert found == naive_percentile(questions, SCORES, *limits)


def test_what_is_missing_or_constant_does_not_count_and_is_said():
    questions = [
        asked(0, sim2answer_score=[0.9, 0.8], probe_score=[0.5, 0.5], sim2gen_score=[0.1, 0.9]),
        asked(1, sim2answer_score=[0.2, 0.1], probe_score=[0.5, 0.5], sim2gen_score=[None, 0.2]),
        asked(2),
    ]
    questions[1] = replace(questions[1], generation=questions[1].generation[:2])
    ranked = Percentile().rank(questions)
    assert [q.category for q in ranked.questions] == ["all-right", "all-wrong", None]
    types = [[g.type for g in q.rank] for q in ranked.questions[:2]]
    assert types == [["normal", "uncertainty"], ["normal"]]
    assert ranked.notes == [
        "probe_score is the same for all generations, so it is left out of the sum",
        "no generation has unigram_overlap_with_answer_score, so this score is left out of the sum",
        (
            "1 of 3 questions lacked a score in some normal generation, so this score is left out "
            "of their sums"
        ),
        "1 of 3 questions had no refusal for the ranking",
        (
            "1 of 3 questions could not be ranked, because no usable score covers all "
            "normal generations of the question"
        ),
    ]


@pytest.mark.parametrize(
    ("ranker", "scores", "message"),
    [
        (Percentile(), {}, "run scorers that add them"),
        (Length(), {}, "run scorers that add them"),
        (Percentile(scores=["note"]), {"note": "good"}, "note: expected numbers"),
        *(
            (Percentile(), {"sim2answer_score": value}, "score: expected numbers of at most 1e")
            for value in (1e308, -1e308, 10**400)
        ),
    ],
)
def test_what_cannot_be_ranked_is_refused(ranker, scores, message):
    generation = with_scores(Generation("A", "normal"), scores)
    with pytest.raises(ShroomError, match=message):
        ranker.rank([Question("Q", "A", None, (generation, Generation("B", "normal")))])


def naive_length(questions):
    """Return categories and ranked texts by length, written out in plain loops."""
    verdict = {"正确": 1.0, "错误": 0.0}
    columns = {
        "gpt": lambda g: verdict[g.extra["gpt_judgement"]],
        "sim": lambda g: g.sim2answer_score,
        "uni": lambda g: g.unigram_overlap_with_answer_score,
        "top": lambda g: g.top_k_avg_probs_score,
    }
    every = [g for q in questions for g in q.generation if g.type == "normal"]
    median = {name: np.median([of(g) for g in every]) for name, of in columns.items()}
    median["gpt"] = 0.5
    for question in questions:
        right, wrong = [], []
        for g in question.generation:
            if g.type == "normal":
                names = ["uni"] if len(g.text) - len(question.answer) < 80 else list(columns)
                total = sum(columns[name](g) for name in names)
                (right if total > sum(median[name] for name in names) else wrong).append(g)
        best = max(right, key=lambda g: g.rm_score + g.sim2answer_score, default=None)
        worst = max(wrong, key=lambda g: g.rm_score - g.sim2answer_score, default=None)
        yield outcome(question, best, worst)


def scored_by_chance():
    """Return questions with scores from 0 to 1, as the ranker scales them, and raw rewards."""
    names, rng = {"top_k_avg_probs_score", *SCORES}, np.random.default_rng(0)
    values = {name: rng.random((40, 3)) for name in names}
    for column in values.values():
        column.flat[[0, 119]] = 0, 1
    values["rm_score"] = rng.normal(size=(40, 3))
    return [
        asked(
            i,
            [f"{i} {j} " + "long " * (20 * (j % 2)) for j in range(3)],
            2,
            **{name: column[i].tolist() for name, column in values.items()},
        )
        for i in range(40)
    ]


@pytest.mark.parametrize("real", [False, pytest.param(True, marks=pytest.mark.real)])
def test_length_equals_plain_loops(real):
    """With made-up verdicts, as the shipped files have none."""
    data = read(DATA / "dreamcatcher" / "test_autolabeled.jsonl") if real else scored_by_chance()
    questions = [
        replace(
            question,
            generation=tuple(
                with_scores(g, {"gpt_judgement": "正确" if (row + place) % 3 else "错误"})
                if g.type == "normal"
                else g
                for place, g in enumerate(question.generation)
            ),
        )
        for row, question in enumerate(data)
    ]
    ranked = Length().rank(questions).questions
    assert len(ranked) == (200 if real else 40)
    assert [(q.category, [g.text for g in q.rank]) for q in ranked] == [*naive_length(questions)]


def test_ranked_questions_have_scaled_scores_and_their_raw_rewards():
    questions = [asked(i, sim2answer_score=[i, i + 2.0]) for i in range(3)]
    ranked = Percentile().rank(questions).questions
    scores = [[g.sim2answer_score for g in q.generation] for q in ranked]
    assert scores == [[0.0, 0.5, None], [0.25, 0.75, None], [0.5, 1.0, None]]
    assert [q.generation[2].rm_score for q in ranked] == [0.0] * 3
    assert Percentile().rank(ranked).questions == ranked


@pytest.mark.parametrize(
    ("verdict", "score", "label"),
    [("正确", 1, 1), ("right", 1, 1), ("错误", 0, 0), ("error", 0, 0), ("不正确", 0, 0)],
)
def test_length_takes_a_verdict_alone_for_a_score(verdict, score, label):
    texts = [Generation("x" * 99, "normal", extra={"gpt_judgement": v}) for v in ("正确", "错误")]
    texts += [Generation("x" * 99, "normal", extra={"gpt_judgement": verdict})]
    (question,) = Length().rank([Question("Q", "A", None, tuple(texts))]).questions
    verdict_of = {"gpt_judgement": verdict, "gpt_judgement_score": score}
    assert question.generation[2].extra == {**verdict_of, "lendiff": "long", "label": label}


# running


def test_scorers_see_what_those_before_have_added():
    class Second(Counting):
        name, fields, identity = "second", ("double",), "second 1"

        def item(self, question, place):
            return value_of(question.generation[place], "words")

        def score(self, items, run):
            del run
            yield from ((words, {"double": 2 * words}) for words in items)

    found = score([asked()], [Counting(), Second()])
    added = {"words": 3, "double": 6}
    assert [g.extra for g in found.questions[0].generation] == [added, added, {}]
    assert found.computed == {"counting": 2, "second": 2}
    # Fields of an earlier run do not stay.
    again = score(found.questions, [Counting(fail="not")]).questions[0]
    assert [g.rm_score for g in again.generation] == [9, None, 0]
    assert [g.extra.get("words") for g in again.generation] == [3, None, None]


# the command


@pytest.fixture
def config(tmp_path, counting):
    def make(text="", rows=None, **more):
        write_lines(tmp_path / "in.jsonl", rows or rows_of([asked(0), asked(1)]))
        content = {"data": "in.jsonl", "output": "out.jsonl", **more}
        path = tmp_path / "annotate.yaml"
        path.write_text(text or json.dumps(content), encoding="utf-8")
        return path

    return make


def test_a_dry_run_counts_and_writes_nothing(done, tmp_path, config):
    path = config(scorers=["counting"])
    before = sorted(tmp_path.iterdir())
    out = done("annotate", "run", path, "--dry-run")
    assert out == "2 questions, 6 generations\ncounting: 4 to score -> rm_score, words\n"
    assert sorted(tmp_path.iterdir()) == before


def test_failures_are_listed_kept_apart_and_tried_again(shroom, refused, tmp_path, config):
    path = config(scorers=[{"counting": {"fail": "not"}}])
    code, _, err = shroom("annotate", "run", path)
    assert code == 1
    assert "item 0: generation[1]: counting: it was told to fail" in err
    assert "missing scores: 2; to try again, add --resume" in err
    assert len(read(tmp_path / "out.jsonl")) == 2
    before = (tmp_path / "out.jsonl").read_bytes()
    err = refused("annotate", "run", path)
    assert "out.jsonl.partial contains results of an earlier run; add --resume" in err
    assert (tmp_path / "out.jsonl").read_bytes() == before
    config(scorers=["counting"])
    assert shroom("annotate", "run", path, "--resume")[:2] == (0, "counting: 2 scored, 2 reused\n")


def test_after_a_finished_run_there_is_nothing_to_resume(shroom, config, monkeypatch):
    path = config(scorers=["counting"])
    assert shroom("annotate", "run", path)[0] == 0
    monkeypatch.setattr(Counting, "score", lambda *_: pytest.fail("it scores again"))
    code, out, err = shroom("annotate", "run", path, "--resume")
    assert (code, out, "out.jsonl is complete, so" in err) == (0, "", True)


OUT = "data: in.jsonl\noutput: o\n"
WRONG = {
    "": "expected keys such as data",
    "a: [": "not valid YAML",
    "output: x\n": "data: expected files or folders of generations, got null",
    "data: in.jsonl\n": "output: expected a path, got null",
    OUT: "nothing to do",
    f"{OUT}scorer: [counting]\n": "the config has no setting 'scorer'; did you mean 'scorers'?",
    f"{OUT}scorers: counting\n": "annotate.yaml: scorers: expected a list",
    f"{OUT}scorers: [countin]\n": "scorers[0]: no scorer 'countin'; did you mean 'counting'?",
    f"{OUT}scorers:\n - counting: {{fial: x}}\n": "scorers[0]: the scorer counting has no setting "
    "'fial'; did you mean 'fail'?",
    f"{OUT}scorers: [counting, counting]\n": "scorers: 2 scorers add rm_score; keep one",
    f"{OUT}scorers: [counting, 3]\n": "scorers[1]: expected a name, or a name with its settings, "
    "got 3",
    f"{OUT}ranker: {{percentile: {{up: 170}}}}\n": "ranker.percentile.up: expected a number from 0 "
    "to 100, got 170",
    f"{OUT}ranker: {{percentile: {{up: 20}}}}\n": "must not exceed the setting 'up'",
    f"{OUT}scorers: [counting]\nranked: r\n": "annotate.yaml: ranked requires a ranker",
    f"{OUT}scorers: [counting]\nranker: length\nranked: o\n": "must refer to different files",
    "data: in.jsonl\noutput: in.jsonl\nscorers: [counting]\n": "in.jsonl",
    "output: o\ndata: [in.jsonl, none.jsonl]\nscorers: [counting]\n": "none.jsonl: no such file",
    "data: in.jsonl\noutput: annotate.yaml\nscorers: [counting]\n": "annotate.yaml",
    "data: !!python/object:os.system x\noutput: o\n": "not valid YAML",
    'data: "a\\0b"\noutput: o\nscorers: [counting]\n': "data: expected files or folders of",
    'data: in.jsonl\noutput: "\\uD800"\nscorers: [counting]\n': "output: expected a path, got",
    "data: in.jsonl\noutput: .\nscorers: [counting]\n": "is a folder; use the name of a file",
    f"{OUT}scorers: [probe]\n": "scorers[0]: the scorer probe needs probe: a folder",
    "data: in.jsonl\noutput: a\0b\n": "not valid YAML: unacceptable character #x0000",
    f"{OUT}scorers: [counting]\nranker: length\npairs: o.partial\n": (
        "o.partial is reserved for the scores of an unfinished run; choose another file"
    ),
}


def test_the_config_of_the_help_is_valid(tmp_path, counting):
    from shroom.cli.annotate import CONFIG

    text = CONFIG.partition("An example of CONFIG:")[2].partition("\n")[2]
    text = text.replace("similarity: {model: BAAI/bge-large-zh-v1.5}", "counting")
    (tmp_path / "annotate.yaml").write_text(text.replace("    - unigram\n", ""))
    (tmp_path / "generations.jsonl").touch()
    assert [each.name for each in Config.read(tmp_path / "annotate.yaml").scorers] == ["counting"]


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_config_is_refused_with_its_place(refused, tmp_path, config, text):
    path = config(text or "\n")
    before = {p: p.read_bytes() for p in tmp_path.iterdir()}
    err = refused("annotate", "run", path)
    assert WRONG[text] in err
    assert "Traceback" not in err
    assert {p: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_interrupted_a_run_says_what_is_kept(shroom, tmp_path, config, monkeypatch):
    path, whole = config(scorers=["counting"]), Counting.score

    def interrupted(self, items, run):
        yield next(whole(self, items, run))
        raise KeyboardInterrupt

    monkeypatch.setattr(Counting, "score", interrupted)
    code, _, err = shroom("annotate", "run", path)
    assert code == 130
    partial = tmp_path / "out.jsonl.partial"
    assert f"stored 1 score in {partial}; to continue, add --resume" in err
    monkeypatch.setattr(Counting, "score", whole)
    out = shroom("annotate", "run", path, "--resume")[1]
    assert out == "counting: 3 scored, 1 reused\n"


def test_paths_in_lists_are_beside_the_config_as_well(config):
    path = config(scorers=[{"counting": {"log": ["./here", "there"]}}])
    assert Config.read(path).scorers[0].log == [str(path.with_name("here")), "there"]


# ranking what has scores


def test_scores_and_a_ranker_at_once_or_one_after_the_other(shroom, in_json, tmp_path, config):
    ranker = {"percentile": {"scores": ["rm_score"]}}
    path = config(scorers=["counting"], ranker=ranker, ranked="ranked.jsonl", pairs="pairs.jsonl")
    found = in_json("annotate", "run", path)
    assert (found["categories"], found["scored"]) == ({"all-right": 2}, {"counting": 4})
    ranked = dreamcatcher.read(tmp_path / "ranked.jsonl").records
    assert len(ranked) == found["ranked"]
    row = json.loads((tmp_path / "pairs.jsonl").read_text().splitlines()[0])
    assert set(row) == {"prompt", "chosen", "rejected"}
    config(data="out.jsonl", output="o", ranker=ranker, ranked="r")
    code, out, err = shroom("annotate", "run", path)
    assert (code, err, out.startswith("2 all-right\n")) == (0, "", True)
    assert (tmp_path / "o").read_bytes() == (tmp_path / "out.jsonl").read_bytes()
    assert (tmp_path / "r").read_bytes() == (tmp_path / "ranked.jsonl").read_bytes()


@pytest.mark.parametrize("content", ["", "[]", "1\n", "{}\n", '{"query": [], "preference": []}\n'])
def test_what_has_no_generations_is_reported(refused, tmp_path, config, content):
    path = config(data="x.jsonl", ranker="percentile")
    (tmp_path / "x.jsonl").write_text(content)
    assert "x.jsonl" in refused("annotate", "run", path)


# people's judgements


def judged(n=30, seed=0):
    """Return scored questions, and judgements of their generations."""
    rng = np.random.default_rng(seed)
    questions, rows = [], []
    for i in range(n):
        p = np.round(rng.random(3), 1)
        texts = [f"{i} {j}" for j in range(3)]
        scores = {"sim2answer_score": np.round(1 - p + rng.normal(0, 0.3, 3), 2).tolist()}
        questions.append(asked(i, texts, **scores))
        rows += [
            {"question": f"Question {i}?", "text": text, "p(Hallucination)": float(value)}
            for text, value in zip(texts, p)
        ]
    return questions, rows


def test_agreement_equals_scipy_and_scikit_learn(tmp_path):
    questions, rows = judged()
    ranked = Percentile().rank(questions).questions
    people = read_judgements(write_lines(tmp_path / "j.jsonl", rows))
    found = agreement(ranked, people, NO_INTERVALS)
    p = np.array([row["p(Hallucination)"] for row in rows])
    x = np.array([g.sim2answer_score for q in questions for g in q.generation[:3]])
    by_name = {row.score: row for row in found.scores}
    mine = by_name["sim2answer_score"]
    assert (mine.n, mine.direction) == (90, "right")
    assert mine.scores["rho"] == pytest.approx(-stats.spearmanr(x, p).statistic, abs=1e-12)
    assert mine.scores["auroc"] == pytest.approx(sk.roc_auc_score(p > 0.5, -x), abs=1e-12)
    flagged = np.empty(90, bool)
    unit = np.repeat(np.arange(30), 3)
    for fold in range(5):
        there = unit % 5 == fold
        limits = np.unique(x[~there])
        limits = [*((limits[1:] + limits[:-1]) / 2), np.inf]
        flags = [(sign, limit) for sign in (1, -1) for limit in limits]
        scores = [
            np.mean(((x[~there] > t) if s > 0 else (x[~there] <= t)) == (p[~there] > 0.5))
            for s, t in flags
        ]
        sign, limit = flags[int(np.argmax(scores))]
        flagged[there] = (x[there] > limit) if sign > 0 else (x[there] <= limit)
    assert mine.scores["accuracy"] == pytest.approx(np.mean(flagged == (p > 0.5)), abs=1e-12)
    kappa = sk.cohen_kappa_score(flagged, p > 0.5)
    assert mine.scores["cohen_kappa"] == pytest.approx(kappa, abs=1e-12)
    points = [point.p for q in ranked for point in dreamcatcher.datapoints([q])]
    there = np.array([value is not None for value in points])
    said = np.array([value for value in points if value is not None]) > 0.5
    category = by_name["category"]
    assert category.n == there.sum()
    right = np.mean(said == (p[there] > 0.5))
    assert category.scores["accuracy"] == pytest.approx(right, abs=1e-12)


@pytest.mark.parametrize(
    ("intervals", "verdict"),
    [
        ([(0.6, 0.8), (0.4, 0.9)], "1 of 2 scores agrees with people significantly better than "),
        ([(0.6, 0.8), (0.6, 0.9)], "2 of 2 scores agree with people "),
        ([(0.4, 0.8), (0.4, 0.9)], "0 of 2 scores agree with people "),
        ([(0.6, 0.8)], "1 of 1 score agrees with people "),
        ([(0.6, 0.8), None], "1 of 1 score agrees with people "),
        ([None, None], "The agreement with people cannot be judged: no AUROC has a confidence "),
        ([], "The agreement with people cannot be judged: no AUROC has a confidence interval."),
    ],
)
def test_the_verdict_on_the_agreement(intervals, verdict):
    rows = [
        Agreement(name, 90, "right", {"auroc": Estimate(0.7 + place / 10, ci)})
        for place, (name, ci) in enumerate(zip("ab", intervals))
    ]
    found = Agreements(rows, 90, 40, 0, Intervals())
    assert found.verdict.startswith(verdict)
    assert ("No correction is made for 2 comparisons" in found.verdict) == (
        None not in intervals and len(rows) == 2
    )


def test_against_is_shown(in_json, done, tmp_path, config):
    questions, rows = judged()
    path = config(ranker="percentile", rows=rows_of(questions))
    people = write_lines(tmp_path / "j.jsonl", [*rows, {**rows[0], "text": "another"}])
    out = done("annotate", "run", path, "--against", people)
    assert out.startswith("2 of 2 scores agree with people ")
    for word in ("sim2answer_score", "category", "judgements without a matching generation: 1"):
        assert word in out
    found = in_json("annotate", "run", path, "--against", people)
    assert found["verdict"] == out.splitlines()[0]
    assert found["against"]["judged"] == 90
    assert {"score", "rho", "accuracy", "cohen_kappa"} <= found["against"]["scores"][0].keys()


def test_judgements_of_nothing_are_refused_before_scoring(shroom, tmp_path, config):
    row = {"question": "another", "text": "x", "label": "Hallucination"}
    people = write_lines(tmp_path / "j.jsonl", [row])
    code, _, err = shroom("annotate", "run", config(scorers=["counting"]), "--against", people)
    assert (code, "no judgement has the same question and text as a generation" in err) == (1, True)
    assert not list(tmp_path.glob("out.jsonl*"))


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (3, "row-object"),
        ({"text": "x", "label": "Hallucination"}, "row-value"),
        ({"question": "Q", "text": "x"}, "label-value"),
        ({"question": "Q", "text": "x", "label": "yes"}, "label-value"),
        ({"question": "Q", "text": "x", "p(Hallucination)": "0.5"}, "p-range"),
        ({"question": "Q", "text": "x", "p(Hallucination)": 2}, "p-range"),
        ({"question": "Q", "text": "x", "p(Hallucination)": None}, "label-value"),
    ],
)
def test_wrong_judgements_are_reported(tmp_path, row, code):
    problems = Problems()
    with pytest.raises(InvalidInput):
        read_judgements(write_lines(tmp_path / "j.jsonl", [row]), problems=problems)
    assert code in problems.codes


# the real data


@pytest.mark.real
def test_the_shipped_scores_give_the_shipped_files_byte_for_byte(done, tmp_path, config):
    folder = DATA / "dreamcatcher"
    data = str(folder / "test_autolabeled.jsonl")
    path = config(data=data, ranker="percentile", output="labelled", ranked="ranked")
    out = done("annotate", "run", path)
    assert out.splitlines()[0] == "151 all-right, 45 all-wrong, 4 partial-right"
    for made, shipped in (("labelled", "autolabeled"), ("ranked", "autoranked")):
        content = (folder / f"test_{shipped}.jsonl").read_bytes()
        assert (tmp_path / made).read_bytes() == content
