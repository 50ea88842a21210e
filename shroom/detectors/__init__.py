"""Detectors: classes that compute p(Hallucination) of datapoints, one module for each family."""
