"""Metrics: pure functions on arrays, without files, printing or heavy imports."""
