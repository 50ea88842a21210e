"""Running models: batches, precision, windows over long texts, stored results."""
