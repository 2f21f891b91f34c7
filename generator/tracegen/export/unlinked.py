"""A page without links to other files: what leads elsewhere becomes text; what scripts or links alone fill goes."""

import re
from html import escape
from html.parser import HTMLParser

# Elements that load, send or run something, or wait for a script.
WITHOUT = frozenset(
    {"script", "link", "base", "meta", "iframe", "object", "embed", "audio", "video", "source", "template", "form"}
    | {"button", "input", "select", "textarea"}
)
# Classes of parts that are nothing without scripts or without the files beside the page.
LEFT_OUT = frozenset({"tg-scripted", "tg-needs-scripts", "tg-links"})
# Class of links that only point, and say nothing as text.
POINTING = "tg-figure-of"
PAGE = "index.html"  # the name by which a body links to itself
VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"})
# What pages say of links that are text now.
SAYS_SO = (
    "Each token leads to the pass that gave it, one of the prompt to the pass that took it in.",
    "; the link leads to the longest one",
)
_ADDRESS = re.compile(r"""\s(?:xlink:)?href\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)""")
_BESIDE = re.compile(r'''\sdata-targets="[^"]*"''')  # a script's file beside the page


def unlinked(body: str) -> str:
    """The body of a page without links to other files."""
    known = _Rewriter(frozenset())
    known.feed(body)
    rewriter = _Rewriter(frozenset(known.ids))
    rewriter.feed(body)
    rewriter.close()
    text = "".join(rewriter.text)
    for said in SAYS_SO:
        text = text.replace(said, "")
    return text


class _Rewriter(HTMLParser):
    """Copies HTML as it stands, but for links and for what is left out; `ids` are the anchors that it leaves."""

    def __init__(self, anchors: frozenset[str]) -> None:
        super().__init__(convert_charrefs=False)
        self.text: list[str] = []
        self.ids: set[str] = set()
        self._anchors = anchors
        self._ends: list[str] = []  # how each open link ends
        self._outside: tuple[str, int] | None = None  # the tag that is left out, and how many of it are open
        self._drawings = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if self._outside is not None:
            name, depth = self._outside
            self._outside = (name, depth + (tag == name))
            return
        if self._is_left_out(tag, given):
            if tag not in VOID:
                self._outside = (tag, 1)
            return
        self._drawings += tag == "svg"
        if given.get("id"):
            self.ids.add(given["id"])
        raw = self.get_starttag_text() or ""
        if tag != "a":
            self.text.append(_BESIDE.sub("", raw))
            return
        target = self._target(given)
        if target is not None:
            self._ends.append("</a>")
            self.text.append(_ADDRESS.sub(lambda _: f' href="#{escape(target)}"', raw))
        elif self._drawings:
            self._ends.append("</g>")
            self.text.append("<g" + _ADDRESS.sub("", raw)[len("<a") :])
        else:
            self._ends.append("</span>")
            kept = "".join(f' {name}="{escape(given[name])}"' for name in ("id", "class", "title") if name in given)
            self.text.append(f"<span{kept}>")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if self._outside is None and tag != "a" and not self._is_left_out(tag, given):
            self.ids |= {given["id"]} if given.get("id") else set()
            self.text.append(self.get_starttag_text() or "")

    def handle_endtag(self, tag: str) -> None:
        if self._outside is not None:
            name, depth = self._outside
            depth -= tag == name
            self._outside = (name, depth) if depth else None
            return
        self._drawings -= tag == "svg"
        self.text.append(self._ends.pop() if tag == "a" and self._ends else f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self._add(data)

    def handle_entityref(self, name: str) -> None:
        self._add(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._add(f"&#{name};")

    def _add(self, text: str) -> None:
        if self._outside is None:
            self.text.append(text)

    def _is_left_out(self, tag: str, given: dict[str, str]) -> bool:
        classes = set(given.get("class", "").split())
        if tag in WITHOUT or classes & LEFT_OUT:
            return True
        if tag in ("img", "image", "use"):
            return any(
                not given[name].startswith(("data:", "#"))
                for name in ("src", "srcset", "href", "xlink:href")
                if name in given
            )
        return tag == "a" and POINTING in classes and self._target(given) is None

    def _target(self, given: dict[str, str]) -> str | None:
        """The anchor on this page to which a link leads; None if it leads elsewhere."""
        path, _, anchor = given.get("href", given.get("xlink:href", "")).partition("#")
        return anchor if path in ("", PAGE) and anchor in self._anchors else None
