"""The package's description: README.md without links to files of the repository."""

import re
from pathlib import Path

from setuptools import setup

readme = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
setup(
    long_description=re.sub(r"!?\[([^\]]+)\]\((?!https?://)[^)]+\)", r"\1", readme),
    long_description_content_type="text/markdown",
)
