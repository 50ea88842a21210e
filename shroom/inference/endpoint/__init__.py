"""An OpenAI-compatible API: requests and their troubles (``client``), and ``answer``, the text."""
