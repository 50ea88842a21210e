"""An OpenAI-compatible API: requests (``client``) and the text of responses (``answer``)."""
