"""The matrix: detectors against data sets. See :func:`shroom.evaluation.matrix.matrix.evaluate`."""
