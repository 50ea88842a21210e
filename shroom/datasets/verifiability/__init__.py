"""Verifiability of generative search engines."""
