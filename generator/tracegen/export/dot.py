"""`dot`: each distinct graph of a run as a Graphviz file, one record a node, one edge an operand."""

import re
from pathlib import Path
from typing import Any

import pandas as pd

from tracegen.contract.quantities import trimmed
from tracegen.export.format import Format, Source

# In a label of a record these have a meaning, spaces are joined, and & begins an entity.
_ESCAPED = {character: f"\\{character}" for character in '{}|<>" '} | {"\\": "\\\\", "&": "&amp;"}
_SPECIAL = re.compile(r'[{}|<>"\\& \x00-\x1f\x7f\ud800-\udfff]')
_STYLES = {"op": "solid", "noop": "dashed", "leaf": "filled"}


def _write(source: Source, folder: Path) -> None:
    graphs = source.table("graphs")
    topologies = dict(zip(graphs["graph"].tolist(), graphs["topology"].tolist(), strict=True))
    nodes, edges = source.table("graph_nodes"), source.table("graph_edges")
    for graph in sorted({*topologies, *nodes["graph"].tolist(), *edges["graph"].tolist()}):
        of_graph = (table[(table["graph"] == graph).to_numpy(bool)] for table in (nodes, edges))
        text = _graph(f"{source.name}, graph {graph}", topologies.get(graph), *of_graph)
        (folder / f"graph-{graph}.dot").write_text(text, encoding="utf-8")


def _graph(title: str, topology: str | None, nodes: pd.DataFrame, edges: pd.DataFrame) -> str:
    """One graph; `topology` is its hash, `nodes` and `edges` are its rows of graph_nodes and graph_edges."""
    lines = [
        "digraph {",
        f'  label="{_label(title)}"',
        f'  topology="{_label(topology)}"',
        "  node [shape=record]",
        *(_node(row) for row in nodes.to_dict("records")),
        *(
            f'  n{source} -> n{target} [label="{slot}"]'
            for source, target, slot in edges[["source", "target", "slot"]].itertuples(index=False)
        ),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _node(row: dict[Any, Any]) -> str:
    """A node: `NAME (DTYPE)|NUMBER [ne0, ne1, …]|OP`, and its kind, layer and component as attributes."""
    label = f"{_label(row['name'])} ({_label(row['dtype'])})|{row['node']} {_shape(row)}|{_label(row['op'])}"
    known = {key: row[key] for key in ("kind", "component", "layer") if not pd.isna(row[key])}
    known["style"] = _STYLES[row["kind"]]
    attributes = [f'label="{label}"', *(f'{key}="{_label(value)}"' for key, value in known.items())]
    return f"  n{row['node']} [{', '.join(attributes)}]"


def _shape(row: dict[Any, Any]) -> str:
    """The shape as ggml prints it: two dimensions, and more until the last that is not 1; `?` where it is unknown."""
    sizes = ["?" if pd.isna(row[f"ne{i}"]) else str(row[f"ne{i}"]) for i in range(4)]
    return f"[{', '.join(trimmed(sizes, 2))}]"


def _label(value: Any) -> str:
    """Text as part of a record's label; a control character, or half of a surrogate pair, is shown as its escape."""
    text = "?" if pd.isna(value) else str(value)
    return _SPECIAL.sub(lambda found: _escape(found[0]), text)


def _escape(character: str) -> str:
    number = ord(character)
    return _ESCAPED.get(character) or (f"\\\\x{number:02x}" if number < 256 else f"\\\\u{number:04x}")


DOT = Format("dot", "a folder with each graph as a Graphviz file", _write)
