"""Reading a page of a report: its words, whether its tags close in order, what it loads, its plots."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET


class Words(HTMLParser):
    """The words of a page, its tags in order, and whatever is loaded from outside."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)
        self.loaded += [name for name, _ in attrs if name in {"src", "href", "srcset", "data"} or name[:2] == "on"]
        if tag in {"script", "link", "iframe", "img"}:
            self.loaded.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def plots_of(page: str) -> list[ET.Element]:
    """The drawings, each read as XML."""
    return [ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]  # noqa: S314 - our own
