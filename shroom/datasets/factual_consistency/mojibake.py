"""Text that was UTF-8 and has been read as Mac Roman: finding it, and mending it.

The en dash, for one, is three bytes in UTF-8, which Mac Roman reads as three characters. Going
back is exact where every such character is explained; where one is not, the text is left alone.
"""

from __future__ import annotations

import re

_MAC_ROMAN = bytes(range(128, 256)).decode("mac_roman")


def _one_of(first: int, last: int, without: str = "") -> str:
    found = (_MAC_ROMAN[byte - 128] for byte in range(first, last + 1))
    return "[" + "".join(re.escape(character) for character in found if character not in without)


#: What begins a pair of bytes, but is common in honest text before an accented letter too: quotes,
#: dashes, an ellipsis and the no-break space. One such pair is no proof, two in a row are.
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
    return mended(text) != text


def mended(text: str) -> str:
    r"""Return the text as it was before UTF-8 was read as Mac Roman; any other text as it is.

    Honest no-break spaces may stand beside what is mended.

    Examples
    --------
    >>> mended("caf\u221a\u00a9"), mended("caf\u00e9"), mended("\u201c\u00c9cole\u201d")
    ('café', 'café', '“École”')
    """
    if text.isascii() or _UNEXPLAINED.search(_SEQUENCE.sub("", text)):
        return text
    try:
        return _SEQUENCE.sub(lambda found: found[0].encode("mac_roman").decode("utf-8"), text)
    except UnicodeDecodeError:  # an overlong sequence, or half of a surrogate pair
        return text
