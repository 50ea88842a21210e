"""SHROOM, SemEval-2024 Task 6."""
