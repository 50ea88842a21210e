"""A language model that is asked whether the context supports the sentence.

``detector`` writes the questions, with labelled examples if requested (``prompting``); ``verdicts``
finds yes or no in the replies, and ``answers`` computes p(Hallucination). ``felm_methods`` asks
about all segments of a response in one question. ``asking`` has the settings that everything that
asks a language model shares; the models are in :mod:`shroom.inference.language_model`.
"""
