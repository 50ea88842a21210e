"""Dreamcatcher: generations with their scores."""
