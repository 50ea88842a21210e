"""FELM: the factuality of segments."""
