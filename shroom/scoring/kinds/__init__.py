"""The kinds of annotation: reading, checking and comparison with the gold."""
