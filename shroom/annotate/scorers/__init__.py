"""The scorers: a module for each or, for the probe, several."""
