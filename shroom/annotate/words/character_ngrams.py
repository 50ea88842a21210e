"""Embeddings without a model: how often each short piece of a text occurs in it.

They are lexical: texts are similar that are written alike, whatever they mean. They work in every
language, and the embedding of a text is always the same.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from shroom.core.extras import require
from shroom.inference.tokenization import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

#: The least and the greatest length of a piece, in characters.
LENGTHS = (1, 3)
#: Enough that few pieces of a text share one.
DIMENSIONS = 1 << 15
#: Part of what identifies scores; raised when the embeddings change.
IDENTITY = f"character n-grams 2 {LENGTHS} {DIMENSIONS}"


def embed(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return a unit vector of each text, without negative numbers: shape [n, ``DIMENSIONS``].

    There must be a text.

    A piece of one to three characters that occurs c times weighs 1 + ln c. Case, width and other
    variants of a character (NFKC) do not matter; white space counts as one blank, which also
    stands before and after each text. Pieces are hashed to dimensions.

    Raises
    ------
    ShroomError
        Where scikit-learn is not installed.

    Examples
    --------
    >>> one, same, other = embed(["A cat.", "a  CAT.", "Dogs!"])
    >>> round(float(one @ same), 12), bool(one @ other < 0.2)
    (1.0, True)
    """
    vectors: NDArray[np.float64] = _vectorizer().fit_transform(texts).toarray()
    return vectors


@lru_cache(maxsize=1)
def _vectorizer() -> Any:
    """Return what counts pieces, and what makes unit vectors of the counts; neither is fitted."""
    require("annotate", "scikit-learn")
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
    from sklearn.pipeline import make_pipeline

    counts = HashingVectorizer(
        preprocessor=_folded,
        analyzer="char",
        ngram_range=LENGTHS,
        n_features=DIMENSIONS,
        alternate_sign=False,
        norm=None,
    )
    return make_pipeline(counts, TfidfTransformer(use_idf=False, sublinear_tf=True))


def _folded(text: str) -> str:
    return f" {' '.join(unicodedata.normalize('NFKC', plain(text)).casefold().split())} "
