"""Predicting past one machine: a folder of shards, the workers of a Ray cluster, and a manifest.

A shard is a file of datapoints. Each is judged whole by one worker, with the detector and the code
that judge a file on one machine, so its predictions are those of one machine, byte for byte.
"""
