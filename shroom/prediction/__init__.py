"""From detectors to submissions: runs and their records, ensembles, calibration."""
