"""What of a recorded toy model is not as its file says, and which of its operations belong to no component."""

from collections.abc import Iterator

from tests.integration.test_models import OF_ANOTHER_WEIGHT
from tracegen.reading.notebook.loaded import LoadedRun

RESIDUAL = {"ADD", "GET_ROWS"}  # sums of the residual stream, and the rows of it that give an output


def of(loaded: LoadedRun) -> Iterator[str]:
    """What is not as the model's file says, and the operations that belong to no component."""
    nodes, tensors = loaded.graph_nodes.astype({"name": str}), loaded.tensors.astype({"name": str})
    weights = nodes[nodes["kind"] == "leaf"].merge(tensors, on="name", suffixes=("", "_file"))
    placed = weights.merge(loaded.placements, on=["graph", "node"], suffixes=("", "_placed"))
    if n := int((placed["tensor"].ne(placed["tensor_placed"]) | placed["offset"].ne(placed["origin_offset"])).sum()):
        yield f"{n} weights lie elsewhere than in their tensors"
    takers = loaded.graph_edges.merge(weights, left_on=["graph", "source"], right_on=["graph", "node"])
    takers = nodes.merge(takers, left_on=["graph", "node"], right_on=["graph", "target"], suffixes=("", "_weight"))
    of_layer = takers.dropna(subset=["layer_weight"])
    if n := int(of_layer["layer"].ne(of_layer["layer_weight"]).fillna(True).sum()):
        yield f"{n} operations are not of the layer of their weight"
    products = takers[takers["op"].isin(["MUL_MAT", "MUL_MAT_ID"]) & (takers["slot"] == "src0")]
    products = products[~products["name"].str.fullmatch(OF_ANOTHER_WEIGHT)]
    if wrong := sorted(set(products.loc[products["component"] != products["component_weight"], "name"])):
        yield f"products are not of the component of their matrix: {', '.join(wrong)}"
    yield from _routing(loaded)
    executed = (
        loaded.ops[loaded.ops["state"] == "executed"]
        .merge(loaded.passes[["pass_id", "graph"]], on="pass_id")
        .merge(nodes, on=["graph", "node"], suffixes=("", "_node"))
    )
    outside = executed[(executed["component"] == "other") & ~executed["op"].isin(RESIDUAL)]
    if len(outside):
        share = 100 * len(outside) / len(executed)
        yield f"{share:.1f} % of operations without a component: {', '.join(sorted(set(outside['op'].astype(str))))}"


def _routing(loaded: LoadedRun) -> Iterator[str]:
    """Whether each token chose as many experts as the model says, in each layer that used stacked experts."""
    used = loaded.run.facts.model.n_experts_used
    chosen = loaded.routing.merge(loaded.passes[["pass_id", "kind"]], on="pass_id").query("kind != 'warmup'")
    if len(chosen) and set(chosen.groupby(["pass_id", "layer", "row"]).size()) != {used}:
        yield f"not all tokens have {used} experts"
    by_id = loaded.graph_nodes.query("op == 'MUL_MAT_ID' and kind != 'leaf'")
    if lost := sorted(set(by_id["layer"].dropna()) - set(chosen["layer"])):
        yield f"no choice of experts in layers {', '.join(map(str, lost))}"


def of_lazy(loaded: LoadedRun) -> Iterator[str]:
    """Whether the table that is read lazily stays in the file, while all other weights are copied."""
    memory = loaded.placements.dropna(subset=["tensor"]).merge(loaded.tensors[["tensor", "name"]], on="tensor")
    table = memory["name"].astype(str) == "per_layer_token_embd.weight"
    if set(memory.loc[table, "memory"]) != {"disk"} or set(memory.loc[~table, "memory"]) != {"copied"}:
        yield "its table is not the only weight that stays in the file"


def of_drafting(loaded: LoadedRun) -> Iterator[str]:
    """Whether the context of the drafting layer only drafts, and the other one checks after its prompt."""
    passes = loaded.passes.dropna(subset=["context"])
    kinds = {int(str(of)): set(rows["kind"].astype(str)) for of, rows in passes.groupby("context")}
    if kinds != {0: {"warmup", "prompt", "verify"}, 1: {"draft"}}:
        yield f"the passes of its contexts are {kinds}"
