"""Downloading public files, checking and keeping them."""
