"""What Codabench refuses when a bundle is uploaded, as a table of small checks.

The rules follow ``src/apps/competitions/unpackers``, ``src/apps/api/serializers`` and the models of
https://github.com/codalab/codabench; the values of single keys are in :mod:`shroom.bundle.fields`.
"""

from shroom.bundle.rules import competition_rules, leaderboard_rules, phase_rules
from shroom.bundle.rules.rule import RULES, Competition, Rule

__all__ = ["RULES", "Competition", "Rule", "competition_rules", "leaderboard_rules", "phase_rules"]
