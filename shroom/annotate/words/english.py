"""Words and keywords of English texts, by spaCy's tokenizer, which needs no model."""

from __future__ import annotations

import importlib
import importlib.util
import re
from functools import cached_property
from importlib.metadata import version
from typing import Any

from shroom.annotate.words.base import Words
from shroom.core.extras import install_hint
from shroom.core.problems import ShroomError
from shroom.inference.tokenization import plain

#: A longer run without blanks is cut, as spaCy's time grows with the square of its length.
_LONGEST = 200
_LONG = re.compile(rf"(\S{{{_LONGEST}}})(?=\S)")


class English:
    """The tokens of spaCy's blank English pipeline, lower-cased and without white space.

    Examples
    --------
    >>> words = English().words("It's Dr. Who's show; don't!")
    >>> words.tokens
    ['it', "'s", 'dr.', 'who', "'s", 'show', ';', 'do', "n't", '!']
    >>> words.keywords
    ['dr.', ';', '!']
    """

    @cached_property
    def identity(self) -> str:
        """The version of spaCy."""
        if importlib.util.find_spec("spacy") is None:
            return "no spacy"  # which matters once a text is English
        return f"spacy {version('spacy')}"

    def words(self, text: str) -> Words:
        """Return the words of a text; keywords are those that are not stop words, with repeats.

        Raises
        ------
        ShroomError
            Where spaCy is not installed.
        """
        document = self._tokenizer(_LONG.sub(r"\1 ", plain(text)))
        found = [token for token in document if not token.is_space]
        tokens = [token.lower_ for token in found]
        return Words(tokens, set(tokens), [token.lower_ for token in found if not token.is_stop])

    @cached_property
    def _tokenizer(self) -> Any:
        try:
            spacy = importlib.import_module("spacy")
        except ImportError as error:
            hint = install_hint("annotate")
            message = f"English texts need spaCy: {hint}; or set language: other"
            raise ShroomError(message) from error
        return spacy.blank("en").tokenizer
