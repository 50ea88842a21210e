"""Detectors that ask a language model whether the context supports the sentence."""
