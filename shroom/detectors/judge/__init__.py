"""A language model that is asked whether the context supports the sentence."""
