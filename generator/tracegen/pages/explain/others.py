"""Explanations of graphs, settings, checks and downloads."""

from __future__ import annotations

from tracegen.figures.explanation import Explanation

NODES = """
nodes = run.graph_nodes[run.graph_nodes["graph"].isin($graphs)]
data = nodes[["graph", "node", "kind", "op", "name", "layer", "component", "dtype"]]
"""

OTHERS = (
    Explanation(
        "graph",
        "The computation graph as ggml evaluates it, folded: neighbouring layers with the same operations and "
        "connections are one block.",
        "Every node of the graphs that share this topology; how often a pass ran it plays no part.",
        "From top to bottom in order of execution. The strip in a block shows its operations by component group; a "
        "block leads to its details. The data lists every node of the graphs.",
        NODES,
    ),
    Explanation(
        "graph-block",
        "The operations of one block with their operands, drawn once for all layers of the same shape.",
        "Every node of the block. Sizes and names are those of its first layer.",
        "Solid boxes compute, dashed ones only view. Weights enter from the left, activations flow down, the KV cache "
        "leaves to the right. A solid box leads to its row in the operation table. The data lists every node of the "
        "graphs, not of the block alone.",
        NODES,
    ),
    Explanation(
        "disk",
        "The settings and counters that decide whether an operation can reach the disk.",
        "Settings as they were asked for; faults and read bytes of the whole process, apart for load and warm-up and "
        "for measured passes.",
        "Bytes read from storage in measured passes are the answer; the rows above say why they are what they are.",
        made_by="tracegen.pages.overview.disk_panel",
    ),
    Explanation(
        "checks",
        "What each check found, and its limit.",
        "The whole run with its evidence, load and warm-up included.",
        "A failed check makes a run not usable, and the figures that depend on it are replaced by the reason. A "
        "warning stands beside figures that still hold.",
        "data = run.checks",
    ),
    Explanation(
        "generated-tokens",
        "The tokens that were sampled, in order, the pass whose result each was sampled from, and the one that then "
        "took it in.",
        "Generated tokens; those of the prompt are in the table of tokens.",
        "The pass that gave token k made the scores from which it was chosen; the pass that held it evaluated it, as "
        "the one row that it took in. The last token may have been sampled and never evaluated.",
        made_by="tracegen.pages.provenance.tokens_table",
    ),
    Explanation(
        "model-files",
        "The files of the model: size, hash, and where each begins on the axis of the heatmap.",
        "All files that were mapped or read. Published names have no folders.",
        "The same sha256 is the same model, wherever it lies.",
        "data = run.files",
    ),
    Explanation(
        "downloads",
        "Every table of the run as it was recorded, load and warm-up included.",
        "All rows; null is “not recorded”.",
        "In a notebook each is an attribute of a loaded run: run.passes, run.ops, … Without tracegen, "
        "pandas.read_parquet reads a file as it is.",
    ),
)
