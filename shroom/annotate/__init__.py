"""Automatic annotation of generations: scorers, then a ranker.

After Liang et al. (2024), *Learning to Trust Your Feelings: Leveraging Self-awareness in LLMs for
Hallucination Mitigation*, whose method is called Dreamcatcher.
"""
