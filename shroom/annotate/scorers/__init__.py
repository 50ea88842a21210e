"""The scorers, a module for each."""
