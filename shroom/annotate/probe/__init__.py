"""The knowledge probe: what a model knows, from its hidden states."""
