"""Language models, which are asked questions: behind an endpoint, or on this machine."""
