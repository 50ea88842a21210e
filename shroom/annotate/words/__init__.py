"""The words of texts in a language."""
