"""Data sets as datapoints of SHROOM, and as files of the hub."""
