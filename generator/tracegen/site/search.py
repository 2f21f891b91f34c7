"""The tensors of each version's model in the site's search.

The search index has titles and summaries of our pages, but no bodies, whose numbers would fill it. Each
tensor name is added once, with `*` for the layer: `blk.*.attn_q.weight`, and then `layers 0 1 2`.
mkdocs.yml sets a separator that splits names at dots.
"""

import csv
import io
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from markupsafe import escape

from tracegen.contract import documents
from tracegen.contract.text import printable
from tracegen.publishing.bundle import Bundle
from tracegen.storing import store

TENSORS = "data/tables/tensors"
PAGE = "appendix/index.html#tab-biggest-tensors"
# What a reader may look for on a page of a report, by the key of the page; search finds no other words of its body.
WORDS = {
    "overview": "answer finding verdict speed tokens per second prompt text picture issue Markdown",
    "file": "memory map page fault page cache waiting for the disk SSD KV cache buffers LRU hit rate mmap weights "
    "KV cache size page faults",
    "timeline": "threads barriers waiting load balance time line",
    "operations": "attention FFN layers operation time bandwidth bound one token",
    "graph": "graph nodes blocks KV cache attention FFN tensors",
    "experts": "routing mixture hot set router",
    "method": "checks warnings settings command line BibTeX citation cite downloads CSV Parquet environment kernel "
    "reproduce repeat hash of the build",
    "appendix": "heatmap page fault disk requests read-ahead cache size reuse order tensors never touched",
}
BOOST = 2.0  # of these pages, and of tensors: they come before the journal, which mentions much
LONGEST = 6_000  # characters of names that a version may add: a hundred versions add less than 1 MB
_DIALOG = 'data-md-component="search" role="dialog"'
_LAYER = re.compile(r"(?<=\.)\d+(?=\.)")


def named(output: str) -> str:
    """The page with a label for Material's search dialog, which has none, for screen readers."""
    return output.replace(f"{_DIALOG}>", f'{_DIALOG} aria-label="Search">', 1)


def add_tensors(index: Path, searched: Mapping[str, tuple[str, Bundle]]) -> None:
    """Add the tensors of each bundle to the search index; `searched`: address -> (citation, bundle)."""
    entries = documents.read_json(index)
    for address, (name, bundle) in searched.items():
        names = tensors(bundle)
        entries["docs"] += [document(address, name, names)] if names else []
    index.write_text(json.dumps(entries, separators=(",", ":")), encoding="utf-8")


def document(address: str, name: str, names: list[str]) -> dict[str, Any]:
    """The search entry of the tensors of one version; its text is HTML."""
    text = escape(words(names))
    return {
        "location": f"{address}/{PAGE}",
        "title": str(escape(f"Tensors · {name}")),
        "boost": BOOST,
        "text": f"<p>{text}</p>",
    }


def tensors(bundle: Bundle) -> list[str]:
    """The names of the model's tensors, from the version's CSV, or from Parquet for a large table without CSV."""
    if f"{TENSORS}.csv" in bundle.document["manifest"]:
        text = (bundle.folder / f"{TENSORS}.csv").read_text(encoding="utf-8")
        with suppress(csv.Error):  # a name may be longer than the limit of a CSV field
            return [row["name"] for row in csv.DictReader(io.StringIO(text, newline="")) if row.get("name")]
    if f"{TENSORS}.parquet" not in bundle.document["manifest"]:
        return []
    import pyarrow.parquet as parquet  # slow to load, and most versions have the CSV

    with store.for_arrow(bundle.folder / f"{TENSORS}.parquet", "rb") as place:
        names = parquet.read_table(place, columns=["name"])["name"].to_pylist()
    return [name for name in names if name]


def words(names: list[str]) -> str:
    """Every name once without its layer, then the layers; names beyond LONGEST are only counted."""
    layers = {int(number) for name in names for number in _LAYER.findall(name)[:1] if len(number) < 5}
    shapes = list(dict.fromkeys(printable(_LAYER.sub("*", name, count=1)) for name in names))
    listed, room = [], LONGEST
    for shape in shapes:
        if len(shape) < room:
            listed.append(shape)
            room -= len(shape) + 1
    more = len(shapes) - len(listed)
    parts = [f"{len(names)} tensors: {' '.join(listed)}"]
    parts += [f"and {more} names for which there is no room"] if more else []
    parts += [f"layers {' '.join(map(str, sorted(layers)))}"] if layers else []
    return "; ".join(parts)
