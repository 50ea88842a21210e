"""Mu-SHROOM, SemEval-2025 Task 3."""
