"""Print what Python shows of each result: its text, its rows and what a notebook shows."""

import shroom
from shroom.evaluation.gold_quality.quality import gold_quality
from shroom.evaluation.rescore import rescore
from shroom.metrics.intervals import Intervals

FEW = Intervals(50)
AWARE = "val.model-aware.json"
PAIR = ["systems/alpha", "systems/beta"]


def results():
    yield "check", shroom.check("mistakes/" + AWARE, "gold")
    yield "score", shroom.score(PAIR[1], "gold", metrics=["brier"], intervals=FEW)
    yield "compare", shroom.compare(PAIR, "gold/" + AWARE, intervals=FEW, trials=200)
    yield "leaderboard", shroom.leaderboard("systems", "gold", intervals=FEW, trials=200)
    yield "agreement", shroom.agreement("gold", FEW)
    yield "gold_quality", gold_quality("doubtful-gold", intervals=FEW)
    yield "rescore", rescore("gold", "new-gold", ["systems"], intervals=FEW)
    yield "calibrate", shroom.calibrate("systems/beta", "gold", folds=4)
    yield "describe", shroom.describe("semeval2024", "gold")
    yield "evaluate", shroom.evaluate("lexical", "gold/" + AWARE, intervals=FEW)
    yield "predict", shroom.predict("lexical", "gold/" + AWARE)


if __name__ == "__main__":
    for name, result in results():
        print(f"--- {name}\n{result!r}")
        print(result.to_frame().to_csv(index=False), end="")
        html = result._repr_html_()
        print(html.partition("</style>")[2] or html)
