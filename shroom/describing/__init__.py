"""What is in the files of a data set: counts, labels, agreement, lengths and its native tables."""
