"""Finding and repairing UTF-8 text that was read as Mac Roman.

The en dash, for example, has three bytes in UTF-8, which Mac Roman reads as three characters. A
text is repaired only if this explains every character beyond ASCII. Of the 46 rows of the experts'
file that need it, ftfy 6.3 repairs 40: not those with a no-break space, nor some single letters.
"""

from __future__ import annotations

import re

_MAC_ROMAN = bytes(range(128, 256)).decode("mac_roman")


def _one_of(first: int, last: int, without: str = "") -> str:
    characters = (_MAC_ROMAN[byte - 128] for byte in range(first, last + 1))
    return "[" + "".join(re.escape(c) for c in characters if c not in without)


#: Characters that can begin such a pair of bytes, but are also common before an accented letter:
#: quotes, dashes, an ellipsis and the no-break space. One such pair is not enough, but two are.
_COMMON = "«»…\N{NO-BREAK SPACE}–—“”‘’"
_NEXT = _one_of(0x80, 0xBF) + "]"
_SEQUENCE = re.compile(
    f"(?:[{_COMMON}]{_NEXT}){{2,}}"
    f"|{_one_of(0xC2, 0xDF, _COMMON)}]{_NEXT}"
    f"|{_one_of(0xE0, 0xEF)}]{_NEXT}{{2}}"
    f"|{_one_of(0xF0, 0xF4)}]{_NEXT}{{3}}"
)
_UNEXPLAINED = re.compile("[^\x00-\x7f\N{NO-BREAK SPACE}]")


def is_mojibake(text: str) -> bool:
    r"""Return whether the text is UTF-8 read as Mac Roman.

    Examples
    --------
    >>> is_mojibake("1914 \u201a\u00c4\u00ec 1918"), is_mojibake("1914 \u2013 1918")
    (True, False)
    """
    return repaired(text) != text


def repaired(text: str) -> str:
    r"""Return the text as it was before UTF-8 was read as Mac Roman; any other text unchanged.

    The text may also contain correct no-break spaces.

    Examples
    --------
    >>> repaired("caf\u221a\u00a9"), repaired("caf\u00e9"), repaired("\u201c\u00c9cole\u201d")
    ('café', 'café', '“École”')
    """
    if text.isascii() or _UNEXPLAINED.search(_SEQUENCE.sub("", text)):
        return text
    try:
        return _SEQUENCE.sub(lambda match: match[0].encode("mac_roman").decode("utf-8"), text)
    except UnicodeDecodeError:  # an overlong sequence, or half of a surrogate pair
        return text
