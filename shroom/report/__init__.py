"""How results are shown: as text, json, what the platforms read, and html."""
