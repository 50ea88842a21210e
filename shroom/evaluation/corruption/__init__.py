"""Faithful pairs of premise and hypothesis turned into inconsistent ones, each edit recorded."""
