"""Foundations of all other packages: datapoints, problems, files and JSON."""
