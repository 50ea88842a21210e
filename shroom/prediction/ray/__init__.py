"""Predicting past one machine: a folder of shards, the workers of a Ray cluster, and a manifest."""
