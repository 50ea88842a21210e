"""Editions: what a shared task fixes, as data."""
