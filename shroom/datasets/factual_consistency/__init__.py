"""Factual consistency of responses in dialogues."""
