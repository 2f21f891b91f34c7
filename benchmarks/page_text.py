"""The visible text of a page, a line for each paragraph, caption or row of a table: for a person to read."""

from html.parser import HTMLParser

_UNSEEN = {"script", "style", "template"}
_INLINE = {"a", "abbr", "b", "bdi", "code", "em", "i", "kbd", "q", "s", "small", "span", "strong", "sub", "sup", "u"}
_CELLS = {"td", "th"}
_LISTS = {"table": "tr", "select": "option"}  # what may be long, and what its rows are


def text_of(body: str, most_rows: int = 10) -> list[str]:
    """The lines of a page's body; of a table or list the first `most_rows` rows, of a drawing its words in one line."""
    reader = _Reader(most_rows)
    reader.feed(body)
    reader.close()
    reader.end_line()
    return reader.lines


class _Reader(HTMLParser):
    def __init__(self, most_rows: int) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._most_rows = most_rows
        self._rows: list[int] = []  # so far, of the tables and lists that are open, the outermost first
        self._words: list[str] = []
        self._drawing: list[str] = []
        self._unseen = self._drawn = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unseen += tag in _UNSEEN
        self._drawn += tag == "svg"
        if tag in _CELLS and self._words:
            self._words.append(" | ")
        elif tag not in _INLINE | _CELLS and not self._drawn:
            self.end_line()
        if tag in _LISTS:
            self._rows.append(0)
        elif tag in _LISTS.values() and self._rows:
            self._rows[-1] += 1

    def handle_endtag(self, tag: str) -> None:
        self._unseen -= tag in _UNSEEN
        if tag == "svg":
            self._drawn -= 1
            self._end_drawing()
        elif tag not in _INLINE | _CELLS and not self._drawn:
            self.end_line()
        if tag in _LISTS and self._rows:
            more = self._rows.pop() - self._most_rows
            if more > 0 and not self._skipped:
                self.lines.append(f"[{more} more rows]")

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            (self._drawing if self._drawn else self._words).append(data)

    def end_line(self) -> None:
        self._add(" ".join("".join(self._words).split()))
        self._words.clear()

    def _end_drawing(self) -> None:
        """Each word of a drawing once; numbers are those of its axes."""
        words = dict.fromkeys(" ".join(word.split()) for word in self._drawing if any(map(str.isalpha, word)))
        self._add(f"[drawing] {' · '.join(words)}" if words else "")
        self._drawing.clear()

    def _add(self, line: str) -> None:
        if line and not self._skipped:
            self.lines.append(line)

    @property
    def _skipped(self) -> bool:
        """Whether this is behind the last row that is given, of any table or list that is open."""
        return any(rows > self._most_rows for rows in self._rows)
