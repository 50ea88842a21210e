"""The shipped detector: a cross-encoder of reference and hypothesis, and how it is fitted."""
