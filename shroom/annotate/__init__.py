"""Automatic annotation of generations, after Liang et al. (2024), *Dreamcatcher*."""
