"""Detectors: what turns datapoints into p(Hallucination), one module for each family."""
