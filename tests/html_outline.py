"""What a page is made of, read by the standard library: for the tests of all pages."""

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "img", "hr"}


class Outline(HTMLParser):
    """A page's tags, in order, with their attributes; and its text outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.page, self.tags, self.open, self.texts = page, [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.texts))

    def all(self, tag: str) -> list[dict]:
        return [attributes for name, attributes in self.tags if name == tag]


def assert_good(page: str) -> Outline:
    """Assert what is promised of every page: whole, accessible, and nothing from elsewhere."""
    outline = Outline(page)
    assert outline.open == []
    headings = [int(tag[1]) for tag, _ in outline.tags if re.fullmatch("h[1-6]", tag)]
    assert headings.count(1) == 1
    assert headings[0] == 1
    assert all(after <= before + 1 for before, after in zip(headings, headings[1:]))
    assert len(outline.all("main")) == len(outline.all("header")) == 1
    assert [given for given in outline.all("title") if "id" not in given] == [{}]
    assert outline.all("html") == [{"lang": "en"}]
    ids = [given["id"] for _, given in outline.tags if "id" in given]
    assert len(ids) == len(set(ids))
    for _, given in outline.tags:
        for key in ("aria-labelledby", "data-rows"):
            assert set((given.get(key) or "").split()) <= set(ids)
        for key in ("src", "href", "xlink:href", "action", "data", "poster", "srcset"):
            assert (given.get(key) or "#").startswith(("#", "data:,"))
        assert not [key for key in given if key.startswith("on")]
    for drawn in outline.all("svg"):
        assert drawn["role"] == "img"
        assert drawn["aria-labelledby"]
    assert len(outline.all("table")) == len(outline.all("caption"))
    assert all(given.get("scope") for given in outline.all("th"))
    assert page.count("<title id=") == page.count("<desc id=") == len(outline.all("svg"))
    assert not re.search(r"url\((?!#)|@import|http-equiv=\"refresh", page)
    assert not re.search(r"\b(nan|inf|NaN|None|Infinity|Undefined)\b", outline.text)
    assert not re.search(r'="[^"]*\bnan\b', page)
    assert len(re.findall("<script", page)) <= 1
    return outline
