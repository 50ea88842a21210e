"""The version of the kit, which every signature carries."""

__version__ = "0.1.0"
