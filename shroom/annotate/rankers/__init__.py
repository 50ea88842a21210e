"""The rankers, a module for each."""
