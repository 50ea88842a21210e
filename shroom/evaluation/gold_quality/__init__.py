"""Whether a gold can be trusted: its rows, its annotators, and what it shares with other splits."""
