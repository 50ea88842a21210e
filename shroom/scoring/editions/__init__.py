"""Editions: the rules of shared tasks, as data."""
