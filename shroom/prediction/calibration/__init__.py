"""Calibrating a submission's p."""
