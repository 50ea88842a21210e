"""Rendering of results as text, JSON, HTML and the formats of the platforms."""
