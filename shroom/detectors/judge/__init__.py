"""A language model asked whether the context supports the sentence.

The question is a template (``prompts``), with labelled examples if they are wanted (``shots``). It
goes to an API (``inference.endpoint``, ``asking``, ``cache``, ``budget``) or to a causal model on
this machine (``local``); what comes back becomes p(Hallucination) in ``answers``.
"""

from shroom.detectors.judge.budget import Estimate
from shroom.detectors.judge.detector import Judge

__all__ = ["Estimate", "Judge"]
