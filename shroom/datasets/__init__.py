"""Data sets: one module each, with its native form and a view of it as datapoints."""
