"""Scores of predictions in the form of a data set of the family, by the metrics of its own."""
