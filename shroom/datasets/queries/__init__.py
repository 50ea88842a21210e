"""Queries to generative search engines."""
