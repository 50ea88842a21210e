"""Asking language models, behind an endpoint or on this machine."""
