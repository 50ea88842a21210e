"""A language model that is asked whether the context supports the sentence.

The question is a template (``prompts``), with labelled examples if requested (``prompting``). It
is sent to an API (``service``, ``cache``, ``budget``) or to a causal model on this machine
(``local``); ``responses`` reads what comes back, and ``answers`` computes p(Hallucination).
``felm_methods`` asks about all segments of a response in one question.
"""
