"""Scores as text, as a small page, and as the platforms read them."""
