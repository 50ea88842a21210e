"""Language models, which are asked questions: behind an endpoint, or on this machine.

``model`` is what both have in common, ``served`` and ``local`` are the two, and ``reply`` is the
one rule for what an answer is.
"""
