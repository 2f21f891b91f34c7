"""What a report publishes, as a reader finds it: values, CSV files, and what its pages hand to their scripts."""

import base64
import csv
import io
import json
import math
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tracegen.report.document.page import Report

Row = dict[str, Any]
Key = tuple[Any, ...]


def handed_over(script: str) -> list[Any]:
    """The arguments of the one call that a script of data makes: as they stand, or deflated."""
    name, _, plain = script.removesuffix(");\n").partition("(")
    found = json.loads(f"[{plain}]")
    if name == "tracegenPacked":
        found = json.loads(zlib.decompress(base64.b64decode(found[1]), -15))
    return list(found)


@dataclass(frozen=True)
class Published:
    """The files and pages of a rendered report."""

    report: Report

    @property
    def values(self) -> dict[str, Any]:
        """The published values by name, exact."""
        document = json.loads(self.report.files["data/values.json"])
        return {name: value["value"] for name, value in document.items()}

    def csv(self, name: str) -> list[dict[str, str]]:
        """The rows of a table or of a figure's data."""
        text = self.report.files[f"data/{name}.csv"].decode()
        return list(csv.DictReader(io.StringIO(text)))

    def page(self, key: str) -> str:
        """The body of a page."""
        return next(page.body for page in self.report.pages if page.key == key)

    def number(self, page: str, name: str) -> int:
        """A number that the lines explaining a figure name: `NAME=160`."""
        found = set(re.findall(rf"\b{name}=(\d+)", self.page(page)))
        assert len(found) == 1, f"{page}: {name} is printed as {found}"
        return int(found.pop())

    def state(self, page: str) -> Any:
        """What a page hands to its script."""
        found = re.search(rf'id="tg-{page}">(.*?)</script>', self.page(page), re.DOTALL)
        assert found is not None
        return json.loads(found[1])

    def called(self, path: str) -> Any:
        """What a script of data calls its function with: `tracegenChunk(DATA);`."""
        return handed_over(self.report.files[path].decode())[0]

    def graph_facts(self) -> list[Row]:
        """What the graph page knows of the nodes of each topology, in the page or in a script of its own."""
        return [
            topology["facts"] if "facts" in topology else self.called(topology["path"].removeprefix("../"))
            for topology in self.state("graph")["topologies"]
        ]

    def op_rows(self) -> list[Row]:
        """The rows that the operation table shows of every pass: what is the same in several stands apart, once."""
        found: list[Row] = []
        nodes: list[int] = []
        where = {one["id"]: one for one in self.state("operations")["passes"]}
        for chunk in sorted({one["chunk"] for one in where.values()}):
            for one in self.called(f"data/ops/{chunk}.js"):
                nodes = one.get("node", nodes)  # else those of the pass before it
                static = self.called(f"data/ops/p{where[one['id']]['static']}.js")
                at = {node: number for number, (node, *_) in enumerate(static["nodes"])}
                begin, columns = 0, [unpacked(one[name]) for name in ("begin", *TIMES)]
                rows = []
                for node, gap, *times in zip(nodes, *columns, strict=True):
                    begin += gap or 0
                    row = {"pass_id": one["id"], "node": node, "begin": None if gap is None else begin}
                    row |= dict(zip(TIMES, times, strict=True))
                    rows.append(row | {name: static[name][at[node]] for name in STEADY})
                for name in STEADY:
                    number = 0
                    differing = unpacked(one.get(name, ""))
                    for skipped, value in zip(differing[::2], differing[1::2], strict=True):
                        number += skipped or 0
                        rows[number][name] = value
                found += rows
        return found


TIMES = ("duration", "work", "barrier", "wait")
STEADY = ("disk", "copied", "buffer", "threads")


def unpacked(text: str) -> list[int | None]:
    """The numbers of a packed column: groups of seven bits, the lowest first, the highest bit of a byte but the last.

    0 is null, an odd number 2n + 1 is n, an even one 2n is -n.
    """
    values: list[int | None] = []
    code = shift = 0
    for byte in base64.b64decode(text):
        code |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(None if code == 0 else code // 2 if code % 2 else -code // 2)
            code = shift = 0
    return values


def assert_published(found: Sequence[dict[str, str]], expected: Iterable[Row], key: Sequence[str]) -> None:
    """Whether the rows of a CSV are the expected ones, in any order; no key may stand twice, no column be left out."""
    expected = list(expected)
    assert [set(row) for row in found[:1]] == [set(row) for row in expected[:1]], "other columns, or no rows"
    by_key = {tuple(_text(row[name]) for name in key): row for row in expected}
    by_place = {tuple(row[name] for name in key): row for row in found}
    assert len(by_place) == len(found), "a key stands twice"
    assert by_place.keys() == by_key.keys()
    wrong = []
    for at, row in by_place.items():
        wrong += [
            f"{at} {name}: published {text!r}, recomputed {by_key[at][name]!r}"
            for name, text in row.items()
            if not agrees(text, by_key[at][name])
        ]
    assert not wrong, "\n".join([f"{len(wrong)} cells of {len(by_place)} rows differ", *wrong[:10]])


def agrees(text: str, value: object) -> bool:
    """Whether a cell says a value: whole numbers to the last digit, others to the ninth."""
    if value is None or text == "":
        return value is None and text == ""
    if isinstance(value, float):
        return math.isclose(float(text), value, rel_tol=1e-9, abs_tol=1e-12)
    return Decimal(text) == value if isinstance(value, int) else text == value


def _text(value: object) -> str:
    return "" if value is None else str(value)
