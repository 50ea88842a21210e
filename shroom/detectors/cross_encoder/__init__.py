"""The shipped detector: a cross-encoder of reference and hypothesis. Run, and fitted."""
