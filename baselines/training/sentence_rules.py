"""Rules that make another sentence of a sentence, faithful or not, on spaCy's parse of it.

A rule takes a :class:`Sentence` and yields texts; what a text is worth, as p(Hallucination), is
in ``P``. The rules that the kit has already (negation, numbers, names) are those of
``shroom datasets corrupt``; antonyms are in the module ``antonyms``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from spacy.tokens import Doc, Span, Token

#: p(Hallucination) of what a rule makes.
P = {
    "roles": 0.95,
    "passive_roles": 0.95,
    "negation": 0.96,
    "antonym": 0.93,
    "number": 0.95,
    "entity": 0.95,
    "word": 0.88,
    "added": 0.8,
    "loop": 0.8,
    "general": 0.7,
    "passive": 0.05,
    "order": 0.04,
    "contraction": 0.03,
    "synonym": 0.08,
    "dropped": 0.22,
    "rephrased": 0.06,
    "same": 0.02,
}
OBJECTS = {"i": "me", "he": "him", "she": "her", "we": "us", "they": "them"}
SUBJECTS = {new: old for old, new in OBJECTS.items()}
PLURAL = {"we", "us", "they", "them", "you"}
#: Verbs whose subject and object may change places, or that have no object.
BOTH_WAYS = {
    "meet",
    "marry",
    "equal",
    "resemble",
    "match",
    "be",
    "become",
    "remain",
    "have",
    "seem",
}
ADVERBIALS = ("prep", "advcl", "npadvmod")
CONTRACTIONS = {
    "do not": "don't",
    "does not": "doesn't",
    "did not": "didn't",
    "is not": "isn't",
    "are not": "aren't",
    "was not": "wasn't",
    "cannot": "can't",
    "can not": "can't",
    "will not": "won't",
    "would not": "wouldn't",
    "have not": "haven't",
    "has not": "hasn't",
    "should not": "shouldn't",
    "could not": "couldn't",
    "I am": "I'm",
    "I have": "I've",
    "I will": "I'll",
    "we are": "we're",
    "they are": "they're",
    "you are": "you're",
    "it is": "it's",
    "that is": "that's",
    "there is": "there's",
}
PHRASES = (
    ("of or relating to", "of or pertaining to"),
    ("of or pertaining to", "relating to"),
    ("of or relating to", "pertaining to"),
    ("the state of being", "the quality of being"),
    ("the state of being", "the condition of being"),
    ("the act of", "the action of"),
    ("the act of", "the process of"),
    ("a person who", "one who"),
    ("someone who", "one who"),
    ("in a manner that is", "in a way that is"),
    ("alternative spelling of", "alternative form of"),
)
#: Nouns that say little by themselves, so that a definition of one word is not just too general.
VAGUE = {"act", "state", "quality", "process", "form", "kind", "type", "condition", "property"}
MARK = re.compile(r"^\([^()]*\) ")


class Pool:
    """Words and phrases of all sentences, to replace others or to be added.

    Attributes
    ----------
    synonyms : dict
        The other words of the synset, for each word of one sense.
    words : dict
        Common words by part-of-speech tag.
    ends : list of str
        The adverbials that end sentences.
    """

    def __init__(self, docs: list[Doc], synonyms: dict[str, list[str]]) -> None:
        self.synonyms = synonyms
        self.words: dict[str, list[str]] = defaultdict(list)
        self.ends: list[str] = []
        for doc in docs:
            for token in doc:
                if _is_common(token):
                    self.words[token.tag_].append(token.text)
            end = None if doc.user_data["task"] == "DM" else _last_phrase(doc)
            if end is not None and end[0].dep_ in ADVERBIALS:
                self.ends.append(end.text)


@dataclass
class Sentence:
    """A parsed sentence, with the draws for it and the pool of all."""

    doc: Doc
    chance: random.Random
    pool: Pool

    @property
    def text(self) -> str:
        """The text."""
        text: str = self.doc.text
        return text

    @property
    def stop(self) -> int:
        """The place of the punctuation at the end, or the number of tokens."""
        return len(self.doc) - 1 if self.doc[-1].is_punct else len(self.doc)

    @property
    def is_single(self) -> bool:
        """Whether the text is one sentence."""
        return len(list(self.doc.sents)) == 1

    def replacing(self, token: Token, new: str) -> str:
        """Return the text with another word in a token's place."""
        return self.text[: token.idx] + new + self.text[token.idx + len(token) :]


# -- unfaithful


def roles(it: Sentence) -> Iterator[str]:
    """Swap subject and object, or two names of one kind."""
    doc = it.doc
    for verb, subject, thing in _arguments(doc):
        if subject.text.lower() != thing.text.lower() and _agree(verb, subject.root, thing.root):
            new_subject = _as_subject(thing, first=subject.start == 0)
            between = doc[subject.end : thing.start]
            yield _joined(
                doc[: subject.start], new_subject, between, _as_object(subject), doc[thing.end :]
            )
    names = [e for e in doc.ents if e.label_ in ("PERSON", "GPE", "ORG", "NORP")]
    for one, two in zip(names, names[1:]):
        between = doc[one.end : two.start]
        is_list = {token.lower_ for token in between} & {"and", "or", "with", ","}
        if one.label_ == two.label_ and one.text != two.text and len(between) > 1 and not is_list:
            yield _joined(doc[: one.start], two.text, between, one.text, doc[two.end :])


def passive_roles(it: Sentence) -> Iterator[str]:
    """Turn an active sentence into a passive one whose subject suffers what it did."""
    return _passive(it.doc, swapped=True)


def word(it: Sentence) -> Iterator[str]:
    """Replace one common word by one of another sentence, in the same form."""
    places = [token for token in it.doc if _is_common(token)]
    if places:
        token = it.chance.choice(places)
        new = it.chance.choice(it.pool.words[token.tag_])
        if new.lower() not in it.text.lower() and new not in it.pool.synonyms.get(token.text, ()):
            yield it.replacing(token, new)


def added(it: Sentence) -> Iterator[str]:
    """Add the last phrase of another sentence."""
    phrase = it.chance.choice(it.pool.ends)
    if it.stop > 2 and it.doc[-1].text != "?" and len(phrase.split()) > 1:
        yield _joined(it.doc[: it.stop], phrase) + it.doc[it.stop :].text


def loop(it: Sentence) -> Iterator[str]:
    """Repeat the last words or letters, as a decoder does that has lost its way."""
    words = it.text.rstrip(".?!").split()
    times = it.chance.randint(1, 6)
    if it.chance.random() < 0.3:
        yield " ".join(words) + words[-1][-it.chance.randint(3, 5) :] * times
    else:
        count = it.chance.randint(1, min(5, len(words)))
        mark = it.chance.choice([" ", ", ", " and "])
        repeated = (mark + " ".join(words[-count:])) * times
        yield " ".join(words) + repeated + it.chance.choice(["", "."])


def general(it: Sentence) -> Iterator[str]:
    """Keep the head of a definition alone, which would fit other words, too."""
    mark = MARK.match(it.text)
    body = [token for token in it.doc if token.idx >= (mark.end() if mark else 0)]
    heads = [token for token in body if token.dep_ == "ROOT"]
    if body and heads and heads[0].pos_ == "NOUN" and body[0].lower_ in ("a", "an", "the"):
        lost = [token for token in body if _is_common(token) and token != heads[0]]
        if len(lost) > 1 and heads[0].lemma_ not in VAGUE:
            yield f"{'An' if heads[0].text[0] in 'aeiou' else 'A'} {heads[0].text}."


# -- faithful


def passive(it: Sentence) -> Iterator[str]:
    """Turn an active sentence of the past into a passive one."""
    return _passive(it.doc, swapped=False)


def order(it: Sentence) -> Iterator[str]:
    """Move the last adverbial to the front, or the first one to the end."""
    doc, end = it.doc, _last_phrase(it.doc)
    moves = end is not None and end[0].dep_ in ADVERBIALS and doc[-1].text != "?"
    if moves and it.is_single and end is not None and end.start > 2:
        first = doc[0]
        if end.root.head == _root(doc) and first.pos_ not in ("PUNCT", "ADV", "VERB", "AUX"):
            is_name = first.pos_ == "PROPN" or first.text == "I"
            start = first.text if is_name else first.text.lower()
            front = end.text[:1].upper() + end.text[1:] + ","
            yield _joined(front, start, doc[1 : end.start], doc[end.end :])
    comma = next((token.i for token in doc if token.text == ","), 0)
    head = _subtree(doc[0].head if doc[0].dep_ == "pobj" else doc[0])
    moves = doc[0].dep_ in ("prep", "advmod", "npadvmod") and it.is_single
    moves = moves and doc[0].lower_ not in ("so", "well", "now", "then", "yes")
    moves = moves and 0 < comma < it.stop - 3
    if moves and head is not None and (head.start, head.end) == (0, comma):
        body = doc[comma + 1 : it.stop].text
        end_of_it = head.text[:1].lower() + head.text[1:] + doc[it.stop :].text
        yield body[:1].upper() + body[1:] + " " + end_of_it


def contraction(it: Sentence) -> Iterator[str]:
    """Contract, or write out, an auxiliary."""
    for pair in CONTRACTIONS.items():
        for old, new in (pair, pair[::-1]):
            text = re.sub(rf"\b{old}\b(?! ?['’.?])", new, it.text, count=1)
            if text == it.text:
                start, begins = old[:1].upper() + old[1:], new[:1].upper() + new[1:]
                text = re.sub(rf"^{start}\b(?! ?['’.?])", begins, it.text, count=1)
            if text != it.text:
                yield text


def synonym(it: Sentence) -> Iterator[str]:
    """Replace a word of one sense by another of its synset."""
    for token in it.doc:
        if token.tag_ in ("NN", "JJ", "RB", "VB") and token.text in it.pool.synonyms:
            yield it.replacing(token, it.chance.choice(it.pool.synonyms[token.text]))


def dropped(it: Sentence) -> Iterator[str]:
    """Leave the last phrase out."""
    end = _last_phrase(it.doc)
    if end is not None and end.start > 3 and len(end) > 1 and end[0].dep_ in (*ADVERBIALS, "cc"):
        yield re.sub(r"[,;:] *([.!]?)$", r"\1", _joined(it.doc[: end.start], it.doc[end.end :]))


def rephrased(it: Sentence) -> Iterator[str]:
    """Exchange a set phrase of definitions, or leave out the mark in front."""
    for pair in PHRASES:
        for old, new in (pair, pair[::-1]):
            text = re.sub(rf"\b{old}\b", new, it.text, count=1, flags=re.IGNORECASE)
            if text != it.text:
                yield text[:1].upper() + text[1:]
    if MARK.match(it.text):
        yield MARK.sub("", it.text)


def same(it: Sentence) -> Iterator[str]:
    """Change nothing but the case or the full stop."""
    yield it.chance.choice([it.text.lower(), it.text.rstrip(".") + "."])


# -- parts of a parse


def _is_common(token: Token) -> bool:
    return token.pos_ in ("NOUN", "VERB", "ADJ") and token.is_alpha and len(token) > 2


def _root(doc: Doc) -> Token:
    return next(iter(doc.sents)).root


def _subtree(token: Token) -> Span | None:
    """Return the words below a token if they stand together."""
    places = [below.i for below in token.subtree]
    together = len(places) == places[-1] - places[0] + 1
    return token.doc[places[0] : places[-1] + 1] if together else None


def _last_phrase(doc: Doc) -> Span | None:
    """Return the adverbial, clause or conjunct of the root that ends a sentence, if any."""
    last = max((token.i for token in doc if not token.is_punct), default=0)
    for child in reversed(list(_root(doc).children)):
        span = _subtree(child)
        if child.dep_ not in (*ADVERBIALS, "advmod", "xcomp", "conj") or span is None:
            continue
        if span.end - 1 == last and len(span) <= 8:
            joins = child.dep_ == "conj" and span.start and doc[span.start - 1].dep_ == "cc"
            return doc[span.start - 1 : span.end] if joins else span
    return None


def _arguments(doc: Doc) -> Iterator[tuple[Token, Span, Span]]:
    """Yield verbs with a short subject and a short object, or agent, that follows."""
    for verb in doc:
        if verb.pos_ != "VERB" or verb.lemma_ in BOTH_WAYS:
            continue
        parts: dict[str, Token] = {}
        for child in verb.children:
            if child.dep_ in ("nsubj", "nsubjpass", "dobj"):
                parts[child.dep_.removesuffix("pass")] = child
            if child.dep_ == "agent":
                parts.update(("dobj", token) for token in child.children if token.dep_ == "pobj")
        if {"nsubj", "dobj"} <= parts.keys():
            subject, thing = _subtree(parts["nsubj"]), _subtree(parts["dobj"])
            if subject is None or thing is None or not subject.end <= verb.i < thing.start:
                continue
            plain = all(t.tag_[0] != "W" and not t.text.lower().endswith("self") for t in thing)
            plain &= all(t.tag_[0] != "W" and t.pos_ != "PUNCT" for t in subject)
            if plain and len(subject) <= 5 and len(thing) <= 6:
                yield verb, subject, thing


def _agree(verb: Token, one: Token, other: Token) -> bool:
    """Return whether two nouns may change places without a change of the verb."""
    forms = [(noun.morph.get("Number"), noun.morph.get("Person")) for noun in (one, other)]
    helpers = [child for child in verb.children if child.dep_ in ("aux", "auxpass")]
    is_past = verb.tag_ == "VBD" and not helpers
    return forms[0] == forms[1] or is_past or any(helper.tag_ == "MD" for helper in helpers)


def _passive(doc: Doc, *, swapped: bool) -> Iterator[str]:
    for verb, subject, thing in _arguments(doc):
        is_root = verb.dep_ == "ROOT" and verb.tag_ == "VBD" and verb.text.endswith("ed")
        extra = [t for t in verb.children if t.dep_ in ("aux", "neg", "prt", "dative")]
        if is_root and not extra and subject.end == verb.i and thing.start == verb.i + 1:
            new, by = (subject, thing) if swapped else (thing, subject)
            plural = new.root.tag_ in ("NNS", "NNPS") or new.text.lower() in PLURAL
            was = f"{'were' if plural else 'was'} {verb.text} by"
            start = _as_subject(new, first=subject.start == 0)
            yield _joined(doc[: subject.start], start, was, _as_object(by), doc[thing.end :])


def _as_subject(span: Span, *, first: bool) -> str:
    text = SUBJECTS.get(span.text.lower(), span.text)
    if text.lower() == "i":
        return "I"
    return text[:1].upper() + text[1:] if first else _within(span, text)


def _as_object(span: Span) -> str:
    text = OBJECTS.get(span.text.lower(), span.text)
    return "I" if text.lower() == "i" else _within(span, text)


def _within(span: Span, text: str) -> str:
    """Return a noun phrase as it stands within a sentence: names keep their capital."""
    is_name = span[0].pos_ == "PROPN" or span[0].text == "I" or span[0].text.isupper()
    return text if is_name else text[:1].lower() + text[1:]


def _joined(*pieces: str | Span) -> str:
    """Return pieces of a sentence in a new order, with single blanks."""
    text = " ".join(piece if isinstance(piece, str) else piece.text for piece in pieces)
    return re.sub(r" +", " ", re.sub(r" ([.,;?!]|n't|'s\b)", r"\1", text)).strip()
