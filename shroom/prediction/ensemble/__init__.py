"""Ensembles of submissions: members, columns, and the ways to combine them."""
