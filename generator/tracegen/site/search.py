"""What the site's search is given beside the words of its pages: the tensors of each version's model.

A body never goes through MkDocs' search, which would keep every number of it. Of a version's tensors
each name is told once, its layer's number left out: `blk.* attn_q.weight` and `layers 0 1 2`.
The numbers are words of their own where the search's separator cuts names at their dots (mkdocs.yml).
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from markupsafe import escape

from tracegen.charts.text import printable
from tracegen.publishing.bundle import Bundle

TENSORS = "data/tables/tensors"
AT = "memory/index.html#tab-biggest-tensors"
LONGEST = 6_000  # characters of names that one version may add: a hundred versions stay below 1 MB
_DIALOG = 'data-md-component="search" role="dialog"'
_LAYER = re.compile(r"(?<=\.)\d+(?=\.)")


def named(output: str) -> str:
    """The page with a name for Material's search dialog, which has none, so that a screen reader says where one is."""
    return output.replace(f"{_DIALOG}>", f'{_DIALOG} aria-label="Search">', 1)


def add_tensors(index: Path, searched: Mapping[str, tuple[str, Bundle]]) -> None:
    """Add the tensors of each bundle to the search index; `searched` has their citation and bundle by address."""
    found = json.loads(index.read_bytes())
    for address, (name, bundle) in searched.items():
        names = tensors(bundle)
        found["docs"] += [document(address, name, names)] if names else []
    index.write_text(json.dumps(found, separators=(",", ":")), encoding="utf-8")


def document(address: str, name: str, names: list[str]) -> dict[str, Any]:
    """The entry of one version; search shows its text as HTML."""
    text = escape(words(names))
    return {"location": f"{address}/{AT}", "title": str(escape(f"Tensors · {name}")), "text": f"<p>{text}</p>"}


def tensors(bundle: Bundle) -> list[str]:
    """The names of the model's tensors, from the version's own table: as CSV, which large tables are not kept as."""
    if f"{TENSORS}.csv" in bundle.document["manifest"]:
        text = (bundle.folder / f"{TENSORS}.csv").read_text(encoding="utf-8")
        with suppress(csv.Error):  # a name that is longer than a field may be
            return [row["name"] for row in csv.DictReader(io.StringIO(text, newline="")) if row.get("name")]
    if f"{TENSORS}.parquet" not in bundle.document["manifest"]:
        return []
    import pyarrow.parquet as parquet  # takes longer to load than most sites to search

    names = parquet.read_table(bundle.folder / f"{TENSORS}.parquet", columns=["name"])["name"].to_pylist()
    return [name for name in names if name]


def words(names: list[str]) -> str:
    """Every name once without its layer, then the layers; what is too much is left out and counted."""
    layers = {int(number) for name in names for number in _LAYER.findall(name)[:1] if len(number) < 5}
    shapes = list(dict.fromkeys(printable(_LAYER.sub("*", name, count=1)) for name in names))
    told, room = [], LONGEST
    for shape in shapes:
        if len(shape) < room:
            told.append(shape)
            room -= len(shape) + 1
    more = len(shapes) - len(told)
    parts = [f"{len(names)} tensors: {' '.join(told)}"]
    parts += [f"and {more} names for which there is no room"] if more else []
    parts += [f"layers {' '.join(map(str, sorted(layers)))}"] if layers else []
    return "; ".join(parts)
