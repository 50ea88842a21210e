"""Public files are fetched, checked and kept."""
