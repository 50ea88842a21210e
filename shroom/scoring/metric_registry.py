"""The metrics by name, each imported when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from shroom.core.problems import ShroomError
from shroom.core.registry import Entry, Registry
from shroom.metrics.base import Description, Metric

_NO_ITEMS = "for no items"
_NO_PAIRS = "where no item has two votes"
_KRIPPENDORFF = "K. Krippendorff (2004), Content Analysis, chapter 11"
_FLEISS = "J. L. Fleiss (1971), Measuring nominal scale agreement among many raters"
_LEFT_OUT = "E. Agirre et al. (2012), SemEval-2012 Task 6: A Pilot on Semantic Textual Similarity"
_A_SHARE = "none: a plain share"
_ONE_LABEL = "where all gold labels are the same"
#: What metrics take.
_P, _LABELS = ("p", "gold_label"), ("label", "gold_label")
_SPANS = ("marked spans", "gold spans")
_VISIONS = "visions2026"


@dataclass(frozen=True)
class MetricEntry(Entry):
    """The import path of a metric of systems, and properties that the metric does not state.

    Attributes
    ----------
    function : str
        The function of arrays, as ``module:attribute``; empty where there is only the metric.
    inputs : tuple of str
        The arrays that it reads, as ``function`` takes them.
    undefined : str
        When it is undefined.
    edition : str
        The edition whose scores have it, where it is not one of binary labels.
    """

    function: str = ""
    inputs: tuple[str, ...] = ("label", "p", "gold_label", "gold_p")
    undefined: str = "where its score is nan"
    edition: str = ""


def _entry(
    metric: str, *inputs: str, undefined: str = _NO_ITEMS, edition: str = "", function: str = ""
) -> MetricEntry:
    """Return the entry of a metric, whose function has its name in lower case by default."""
    where = f"shroom.metrics.{metric}"
    function = f"{where.partition(':')[0]}:{function}" if function else where.lower()
    return MetricEntry(
        where, function=function, inputs=inputs, undefined=undefined, edition=edition
    )


#: The metrics of systems, in the order in which they are listed.
METRICS = Registry(
    "metric",
    {
        "accuracy": _entry("classification:ACCURACY", *_LABELS),
        "rho": _entry(
            "correlation:RHO",
            *("p", "gold_p"),
            undefined="where p or the gold's p is constant, so also for fewer than two items",
        ),
        "balanced_accuracy": _entry(
            "classification:BALANCED_ACCURACY", *_LABELS, undefined=_ONE_LABEL
        ),
        "brier": _entry("calibration:BRIER", *_P, function="brier_score"),
        "log_loss": _entry("calibration:LOG_LOSS", *_P),
        "ece": _entry("reliability:ECE", *_P, function="expected_calibration_error"),
        "mce": _entry("reliability:MCE", *_P, function="maximum_calibration_error"),
        "auroc": _entry("discrimination:AUROC", *_P, undefined=_ONE_LABEL),
        "average_precision": _entry(
            "discrimination:AVERAGE_PRECISION",
            *_P,
            undefined="where no gold label is a hallucination",
        ),
    },
    group="shroom.metrics",
    base="shroom.metrics.base:Metric",
)


def _of_detection(name: str, undefined: str = _NO_ITEMS) -> MetricEntry:
    about = {"undefined": undefined, "edition": _VISIONS, "function": "detection"}
    return _entry(f"labelled_spans:DETECTION_{name.upper()}", "marked", "positive", **about)


#: The metrics of the other kinds of annotation, under the names of their pages: an edition puts
#: the name of an aspect before macro-F1, and calls the correlation of characters ``rho``.
OF_OTHER_KINDS = Registry(
    "metric",
    {
        "macro_f1": _entry("classification:MACRO_F1", *_LABELS, edition="cap2025"),
        "iou": _entry("span_metrics:IOU", *_SPANS, edition="mushroom2025"),
        "character_rho": _entry("span_metrics:RHO", *_SPANS, edition="mushroom2025"),
        "cor": _entry("labelled_spans:COR", *_SPANS, edition=_VISIONS),
        "cor_lbl": _entry("labelled_spans:COR_LBL", *_SPANS, edition=_VISIONS),
        "detection_f1": _of_detection("f1", "where no text is marked or positive"),
        "detection_accuracy": _of_detection("accuracy"),
        "detection_precision": _of_detection("precision", "where no text is marked"),
        "detection_recall": _of_detection("recall", "where no text is positive"),
    },
    base="shroom.metrics.base:Metric",
)


def _of_votes(
    name: str,
    about: str,
    formula: str,
    reference: str,
    undefined: str = _NO_PAIRS,
    *,
    least: float = 0.0,
    module: str = "agreement",
) -> Description:
    return Description(
        name=name,
        about=about,
        formula=formula,
        bounds=(least, 1.0),
        higher_is_better=True,
        inputs=("votes",),
        undefined=undefined,
        reference=reference,
        function=f"shroom.metrics.{module}:{name}",
        command="shroom gold agreement GOLD",
        intervals=("percentile",) if least < 0 else ("Wilson",),
    )


_DESCRIBED = (
    _of_votes(
        "krippendorff_alpha",
        "how far the annotators agree, corrected for chance; votes may be missing",
        "1 − Dₒ/Dₑ: the observed disagreement of votes within items, over that of all votes",
        _KRIPPENDORFF,
        f"{_NO_PAIRS}, or all votes in such items are the same",
        least=-1.0,
    ),
    _of_votes(
        "fleiss_kappa",
        "how far the annotators agree, corrected for chance; as many votes for each item",
        "(P − Pₑ)/(1 − Pₑ), P the pairwise agreement, Pₑ the sum of the labels' squared shares",
        _FLEISS,
        f"{_NO_PAIRS}, items differ in their number of votes, or all votes are the same",
        least=-1.0,
    ),
    _of_votes(
        "pairwise_agreement",
        "how often two annotators of one item agree",
        "(1/n) Σ (pairs of votes on item i that agree)/(pairs of votes on item i)",
        _FLEISS,
    ),
    _of_votes(
        "unanimous",
        "the share of items on which all annotators agree",
        "(1/n) Σ [all votes on item i are the same], over items with two votes or more",
        _A_SHARE,
    ),
    _of_votes(
        "human_accuracy",
        "the accuracy of one annotator against the majority of the others, a tie half right",
        "the mean over votes v of [v = the others' majority], ½ where the others are tied",
        _LEFT_OUT,
        module="human_ceiling",
    ),
    _of_votes(
        "human_rho",
        "rho of one annotator's vote, taken as p, with the share of the others",
        "the mean over annotators of rho(vote, the others' share of Hallucination)",
        _LEFT_OUT,
        f"{_NO_PAIRS}, or all annotators, or the others of each, vote the same throughout",
        least=-1.0,
        module="human_ceiling",
    ),
    _of_votes(
        "label_accuracy",
        "the accuracy of one annotator against the majority of all, their own vote included",
        "the mean over votes v of [v = the majority of all], ½ where the votes are tied",
        _A_SHARE,
        least=0.5,
        module="human_ceiling",
    ),
)

#: The figures of the annotators' votes, in the order in which they are listed.
FIGURES = {figure.name: figure for figure in _DESCRIBED}


def metric(name: str) -> Metric:
    """Return the metric of a name.

    Raises
    ------
    ShroomError
        If there is no metric of that name.

    Examples
    --------
    >>> metric("rho").bounds
    (-1.0, 1.0)
    """
    if name in FIGURES:
        raise ShroomError(f"'{name}' is of annotators, not of systems: see {FIGURES[name].command}")
    loaded: Metric = METRICS.load(name)
    return loaded


def _intervals(measure: Metric) -> tuple[str, ...]:
    if measure.is_biased:
        return ()
    if measure.share is not None:
        return ("Wilson",)
    return ("percentile", "BCa", *(("normal",) if measure.influence else ()))


def describe(name: str) -> Description:
    """Return the description of a metric of systems, of whatever kind, or of annotators.

    Raises
    ------
    ShroomError
        If there is no metric of that name.

    Examples
    --------
    >>> describe("brier").direction
    'less is better'
    >>> describe("fleiss_kappa").reference
    'J. L. Fleiss (1971), Measuring nominal scale agreement among many raters'
    """
    if name in FIGURES:
        return FIGURES[name]
    if name in OF_OTHER_KINDS:
        entry, measure = OF_OTHER_KINDS[name], OF_OTHER_KINDS.load(name)
    elif name in METRICS:
        entry, measure = METRICS[name], metric(name)
    else:
        raise METRICS.unknown(name, also=(*OF_OTHER_KINDS, *FIGURES))
    option = "" if name in ("accuracy", "rho") else f" --metrics {name}"
    option = f" --edition {entry.edition}" if entry.edition else option
    exact = ("McNemar's exact test",) if name == "accuracy" else ()
    return Description(
        name=name,
        about=measure.about,
        formula=measure.formula,
        bounds=measure.bounds,
        higher_is_better=measure.higher_is_better,
        inputs=entry.inputs,
        undefined=entry.undefined,
        reference=measure.reference,
        function=entry.function or entry.where,
        command=f"shroom score SUBMISSION GOLD{option}",
        intervals=_intervals(measure),
        paired_tests=("approximate randomisation", *exact),
    )
