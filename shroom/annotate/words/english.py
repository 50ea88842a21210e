"""English tokens by rules close to those of spaCy, for where spaCy is not installed."""

from __future__ import annotations

import re

#: Part of what scores are known by: raised when the rules or the function words change.
VERSION = "english rules 1"

_LETTER = r"[^\W\d_]"
_ICON = "[¦©®°\u2190-\u21ff\u2300-\u27bf\U0001f300-\U0001faff]"
_HYPHENS = r"--|---|——|~|[-–—]"
#: Kept whole, whatever stands in them.
_ADDRESS = re.compile(
    r"(?:https?://|www\.)\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:[a-z0-9-]+\.)+(?:com|edu|gov|net|org)"
    r"(?:/\S*)?",
    re.IGNORECASE,
)
#: Whole as well.
_ABBREVIATIONS = frozenset(
    """
    a.m. adm. bros. co. corp. d.c. dr. e.g. gen. gov. i.e. inc. jan. feb. mar. apr. jun. jul. aug.
    sep. sept. oct. nov. dec. jr. ltd. messrs. mr. mrs. ms. mt. p.m. ph.d. prof. rep. rev. sen.
    sr. st. vs. u.s. u.k. u.n. and/or 's ’s
    """.split()  # noqa: SIM905 - to be read
)
#: Characters; a longer chunk is no address.
_LONGEST = 1000
#: Characters at a chunk's end in which its last token is looked for.
_WINDOW = 16
_INITIALS = re.compile(r"(?:[A-Za-z]\.)|(?:[A-Z]\.){2,}")
#: What two tokens are written as one.
_JOINED = {
    "cannot": 3,
    "gonna": 3,
    "gotta": 3,
    "lemme": 3,
    "gimme": 3,
    "wanna": 3,
    "dont": 2,
    "doesnt": 4,
    "didnt": 3,
    "isnt": 2,
    "wasnt": 3,
    "im": 1,
    "ive": 1,
    "youre": 3,
    "theyre": 4,
}
_PREFIX = re.compile(
    rf"\.{{2,}}|…|\+(?![0-9])|[$£€¥₹₽₩]|{_ICON}|"
    r"[\"“”„«»`‘'’()\[\]{}<>,;:!?¿¡*#&_§%=—–‚。，！？；：、（）《》「」『』【】]"
)
_SUFFIX = re.compile(
    r"['’](?:s|m|d|re|ve|ll|S|M|D|RE|VE|LL)$|"
    rf"\.{{2,}}$|…$|{_ICON}$|(?<=\d)[+$£€¥]$|"
    r"(?<=\d)(?:km|m|cm|mm|kg|g|mg|lb|oz|hz|gb|mb|kb|tb|mph|%)$|"
    r"[\"“”„«»`‘'’()\[\]{}<>,;:!?#&_%*=—–‚。，！？；：、（）《》「」『』【】]$|"
    r"(?:(?<=[a-z0-9%²+*\"“”'’)}\]-])|(?<=[^\x00-\x7fA-Z])|(?<=[A-Z][A-Z]))\.$"
)
_INFIX = re.compile(
    rf"\.{{2,}}|…|{_ICON}|(?<=\d)[+\-*^](?=[\d-])|(?<=[a-z\"'’“”])\.(?=[A-Z\"'’“”])|(?<={_LETTER}),(?={_LETTER})|"
    rf"(?<=[^\W_])(?:{_HYPHENS})(?={_LETTER})|(?<=[^\W_])[:<>=/](?={_LETTER})"
)

#: Words that tell little of what a text is about.
FUNCTION_WORDS = frozenset(
    """
    a an the this that these those each every either neither any some no none all both few many
    more most much less least several such other others another same own enough various whole
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his
    himself she her hers herself it its itself they them their theirs themselves one
    who whom whose which what whoever whatever where when why how whether whence whenever wherever
    whither whereas whereby wherein whereupon whereafter
    be am is are was were been being have has had do does did doing done can could may might must
    should will would ca used using
    n't n’t not nor never 's ’s 'm ’m 're ’re 've ’ve 'd ’d 'll ’ll
    and or but if unless because as while though although than then so since until once
    about above across after against along amid among amongst around at before behind below
    beside besides between beyond by down due during except for from in into of off on onto out
    over per regarding through throughout thru to toward towards under up upon via with within
    without again almost alone already also always anyhow anyway anywhere back elsewhere else even
    ever further hence here hereby herein however indeed just last latter latterly formerly former
    meanwhile moreover mostly namely nevertheless next now nowhere often only otherwise
    perhaps please quite rather really re seem seemed seeming seems serious sometime sometimes
    somehow somewhere still there thereby therefore therein thus together too very well yet
    afterwards beforehand thence thereafter thereupon
    anyone anything everyone everything everywhere nobody noone nothing someone something
    first two three four five six eight nine ten eleven twelve fifteen twenty forty fifty sixty
    hundred third
    become became becomes becoming call empty front full side top bottom amount name part
    get give go keep make made move put say see show take
    """.split()  # noqa: SIM905 - to be read
)


def tokens(text: str) -> list[str]:
    """Return the tokens of an English text, as they are written.

    Punctuation stands by itself, contractions are two tokens, and so are compounds with a hyphen
    three.

    Examples
    --------
    >>> tokens("It's Dr. Who's 3.5-hour show; don't!")
    ['It', "'s", 'Dr.', 'Who', "'s", '3.5', '-', 'hour', 'show', ';', 'do', "n't", '!']
    """
    return [token for chunk in text.split() for token in _split(chunk)]


def _split(chunk: str) -> list[str]:
    """Return the tokens of what stands between blanks: from both ends, then what is left."""
    start, end = 0, len(chunk)
    front: list[str] = []
    back: list[str] = []
    while start < end:
        if _is_whole(chunk, start, end):
            return [*front, chunk[start:end], *reversed(back)]
        found = _PREFIX.match(chunk, start, end)
        if found:
            front.append(found[0])
            start = found.end()
            continue
        cut = _last(chunk, start, end)
        if cut == start:
            break
        back.append(chunk[cut:end])
        end = cut
    return [*front, *_middle(chunk[start:end]), *reversed(back)]


def _is_whole(chunk: str, start: int, end: int) -> bool:
    if end - start > _LONGEST:
        return False
    return bool(
        chunk[start:end].lower() in _ABBREVIATIONS
        or _INITIALS.fullmatch(chunk, start, end)
        or _ADDRESS.fullmatch(chunk, start, end)
    )


def _last(chunk: str, start: int, end: int) -> int:
    """Return where the last token of a chunk begins; its start where the chunk is not cut here."""
    tail = max(start, end - _WINDOW)
    last = chunk[tail:end].lower()
    if tail == start and last in _JOINED:
        return start + _JOINED[last]
    if last.endswith(("n't", "n’t")) and end - start > len("n't"):
        return end - len("n't")
    found = _SUFFIX.search(chunk, tail, end)
    return found.start() if found else start


def _middle(chunk: str) -> list[str]:
    """Return the tokens of a chunk without what stands before and after it."""
    pieces, start = [], 0
    for found in _INFIX.finditer(chunk):
        pieces += [chunk[start : found.start()], found[0]]
        start = found.end()
    return [piece for piece in (*pieces, chunk[start:]) if piece]
