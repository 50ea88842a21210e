"""The knowledge probe: what a language model's hidden states tell of what it knows."""
