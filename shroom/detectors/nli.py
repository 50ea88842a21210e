"""The field's classic baseline: whether the reference entails the hypothesis, by an NLI model.

The premise is the side that carries the meaning, the hypothesis is ``hyp``. Of the model's three
probabilities, p(Hallucination) is C/(C+E) by default: what is neither entailed nor contradicted
does not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shroom.core.datapoint import premises
from shroom.core.problems import ShroomError
from shroom.detectors import settings
from shroom.detectors.base import Detector
from shroom.detectors.nli_classifier import Classifier
from shroom.detectors.pairs import Pairs
from shroom.detectors.windowed_pairs import Windows
from shroom.inference import hub
from shroom.inference.run_settings import RUN
from shroom.inference.tokenization import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shroom.core.datapoint import Datapoint
    from shroom.inference.run_settings import Run

#: How p(Hallucination) follows from E(ntailment) and C(ontradiction).
FORMULAS = ("c/(c+e)", "1-e", "c")


class NLI(Detector):
    """p(Hallucination) from what one NLI model or several say of reference and hypothesis.

    Parameters
    ----------
    model : str or list of str
        Folders or names on the hub of sequence classifiers; the p of several are averaged.
    revision : str or list of str, optional
        A commit, tag or branch of each.
    formula : str
        One of ``FORMULAS``; C/(C+E) is 0.5 where both are 0.
    reference : str
        With what the hypothesis is compared: a value of :class:`shroom.core.datapoint.Rule`.
    multilingual : bool
        Whether the models read the source language of a translation.
    threshold : float
        The label is Hallucination where p is greater.
    windows, overlap
        How a premise is read that is too long for a model: see
        :class:`shroom.detectors.windowed_pairs.Windows`.

    Notes
    -----
    Which class is which is read from the names in the model's ``id2label``. Where either of two
    sides may support the hypothesis, the one that does so better counts.
    """

    name = "nli"

    def __init__(
        self,
        model: str | Sequence[str] | None = None,
        revision: str | Sequence[str] | None = None,
        formula: str = FORMULAS[0],
        reference: str = "given",
        multilingual: bool = False,  # noqa: FBT001, FBT002 - a setting, given by its name
        threshold: float = 0.5,
        windows: str = "max",
        overlap: int = 1,
    ) -> None:
        if model is None:
            raise ShroomError(
                "the detector nli needs --model: a folder or the hub's name of an NLI model, such "
                "as cross-encoder/nli-deberta-v3-base"
            )
        self.models = settings.names("model", model)
        revisions = [None] if revision is None else list(settings.names("revision", revision))
        if revision is None:
            revisions *= len(self.models)
        if len(revisions) != len(self.models):
            raise ShroomError(
                f"revision: {len(revisions)} for {len(self.models)} models; give each its own"
            )
        self.revisions = tuple(revisions)
        self.formula = settings.one_of("formula", formula, FORMULAS)
        self.rule = settings.rule(reference)
        self.multilingual = settings.flag("multilingual", multilingual)
        self.threshold = settings.share("threshold", threshold)
        self.windows = Windows.of(windows, overlap)
        self._loaded: dict[tuple[str | None, str | None], list[Classifier]] = {}

    def predict(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> NDArray[np.float64]:
        """Return p(Hallucination) of each datapoint: shape [n], in [0, 1]."""
        if not datapoints:
            return np.empty(0)
        pairs = Pairs.of(datapoints, rule=self.rule, multilingual=self.multilingual)
        by_model = self._by_model([(premise, hyp) for _, premise, hyp in pairs.items], run)
        return np.asarray(
            np.mean(
                [pairs.best(p_from(found[:, 0], found[:, 2], self.formula)) for found in by_model],
                axis=0,
            )
        )

    def premises(self, datapoint: Datapoint) -> tuple[str, ...]:
        """Return the texts with which the hypothesis is compared."""
        return premises(datapoint, rule=self.rule, multilingual=self.multilingual)

    @property
    def identity(self) -> str:
        """The names of the models' weights.

        Examples
        --------
        >>> NLI(["a/model", "b/model"], ["v1", "v2"]).identity
        'a/model@v1+b/model@v2'
        """
        return "+".join(map(hub.identity, self.models, self.revisions))

    def probabilities(
        self, pairs: Sequence[tuple[str, str]], run: Run = RUN
    ) -> NDArray[np.float64]:
        """Return what the models say of pairs of premise and hypothesis, on average.

        Parameters
        ----------
        pairs : sequence of (premise, hypothesis), length n
            Any two texts.
        run : Run
            How it is run.

        Returns
        -------
        array, shape [n, 3]
            The probabilities of entailment, neutral and contradiction, in this order.
        """
        if not pairs:
            return np.empty((0, 3))
        return np.asarray(np.mean(self._by_model(pairs, run), axis=0))

    def _by_model(self, pairs: Sequence[tuple[str, str]], run: Run) -> list[NDArray[np.float64]]:
        how = (run.device, run.precision)
        if how not in self._loaded:
            chosen = zip(self.models, self.revisions)
            self._loaded[how] = [Classifier(*one, run, self.windows) for one in chosen]
        given = [(plain(premise), plain(hyp)) for premise, hyp in pairs]
        return [one.probabilities(given, run) for one in self._loaded[how]]


def p_from(
    entailment: NDArray[np.float64],
    contradiction: NDArray[np.float64],
    formula: str = FORMULAS[0],
) -> NDArray[np.float64]:
    """Return p(Hallucination) from an NLI model's probabilities.

    Parameters
    ----------
    entailment, contradiction : array, shape [n]
        In [0, 1].
    formula : str
        One of ``FORMULAS``.

    Returns
    -------
    array, shape [n]
        In [0, 1]; C/(C+E) is 0.5 where both are 0.

    Examples
    --------
    >>> p_from(np.array([0.25, 0.0]), np.array([0.75, 0.0]))
    array([0.75, 0.5 ])
    """
    if formula == "c":
        return contradiction
    if formula == "1-e":
        return 1 - entailment
    total = contradiction + entailment
    return np.where(total > 0, contradiction / np.where(total > 0, total, 1), 0.5)
