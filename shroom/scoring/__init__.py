"""A submission is read, checked, aligned with the gold and scored, and the scores are shown."""
