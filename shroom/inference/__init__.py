"""Models are run: in batches, in a precision, over windows, from a cache, resumed."""
