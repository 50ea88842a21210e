"""Corruption of faithful pairs of premise and hypothesis; every edit is recorded."""
