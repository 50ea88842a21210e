"""Predicting past one machine: a folder of shards, the workers of a Ray cluster, and a manifest.

A shard is a file of datapoints. One worker judges a whole shard, with the detector and the code
that judge a file on one machine, so the predictions are those of one machine, byte for byte.
"""
