"""The matrix: detectors against data sets. See :func:`shroom.evaluating.matrix.evaluate`."""
