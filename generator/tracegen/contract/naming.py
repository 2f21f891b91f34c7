"""Derives the layer and the component of a tensor from its name.

A GGUF file names weights `blk.3.attn_q.weight`. llama.cpp's graphs name results `Qcur-3` and derive names from
them: `Qcur-3 (view) (permuted)`, `cache_k_l3 (view)`, and `CPU#inp_embd#0` for a copy for another backend.

Where a name allows several components, this module decides:

- a norm of anything is `norm`; the normalisation of router weights is `router`
- an activation (`ffn_swiglu`, `ffn_moe_silu`) belongs to the gate, with which it is fused
- gate and up stacked in one weight (`ffn_gate_up_exps`) count as up
- `ffn_out` is the product of the down projection, `ffn_moe_out` the sum over the experts: down
- a shared expert is always used, not chosen: it counts as dense, its gate as `router`
- residual sums (`ffn_inp`, `l_out`) are `other`, and so is what stands in their place: hyper-connections (`hc_…`) and
  weighted sums over earlier layers (`…_res_score`)
- an unnamed node (`node_12`, ` (view)`) is `other`, but see `place_of`
"""

import re
from collections.abc import Sequence
from functools import lru_cache

Place = tuple[int | None, str]  # layer, component

_DERIVED = re.compile(r" \(.*")
_UNNAMED = re.compile(r"(?:node_[0-9]+)?(?: \(.*)?")
_NORMS = ("norm", "norm_w")  # names of norms for which llama.cpp does not state the layer
_BACKEND_COPY = re.compile(r"[^#]+#(?P<name>.+)#[0-9]+")
_WEIGHT = re.compile(r"(?:.+\.)?blk\.(?P<layer>[0-9]{1,6})\.(?P<stem>.+)")
_RESULT = re.compile(r"(?!leaf_|node_)(?P<stem>.+)-(?P<layer>[0-9]{1,6})")
_CACHE = re.compile(r"(?P<stem>(?:cache|dsv4)_\w+)_l(?P<layer>[0-9]{1,6})")
_SUFFIX = re.compile(r"\.(?:weight|bias|scale|input_scale)(?:\.lora_[ab])?$")

_OF_OP = {
    "FLASH_ATTN_EXT": "attention",
    **dict.fromkeys(("NORM", "RMS_NORM", "GROUP_NORM", "L2_NORM"), "norm"),
    **dict.fromkeys(("SSM_CONV", "SSM_SCAN", "RWKV_WKV6", "RWKV_WKV7"), "recurrent"),
    **dict.fromkeys(("GATED_LINEAR_ATTN", "GATED_DELTA_NET"), "recurrent"),
}

_ATTENTION_INPUT = r"(?:cross_|vis_)?attn_"
_SHARED = r"sh(?:ared_)?exp(?:ert)?"
_RULES = tuple(
    (re.compile(pattern), component)
    for pattern, component in (
        (r"(?:temp_ext|top_p|top_k|min_p|dist|penalties|greedy)_\w+|logit\w*|max_(?:logit|idx)", "other"),
        (r"cache_[rs]|cache_ple_r|rs_\w+", "recurrent"),
        (r"cache_\w+|attn_inp_[kv]_idxs|self_[kv]_idxs|dsv4_\w+_state_\w+", "kv_cache"),
        (r"ffn_moe_(?:logits|probs|argsort|topk|group_topk|weights)\w*", "router"),
        (r".*norm.*|time_mix_ln", "norm"),
        (r"(?:output_)?hc_\w+|\w+_res_score", "other"),
        (rf"ffn_gate_inp\w*|ffn_gate_tid2eid|exp_probs_b\w*|router\w*|{_SHARED}_gate\w*", "router"),
        (rf"ffn_{_SHARED}_gate\w*", "router"),
        (rf"ffn_gate_{_SHARED}", "ffn_gate"),
        (rf"ffn_(?:gate_)?up_{_SHARED}", "ffn_up"),
        (rf"ffn_down_{_SHARED}|ffn_{_SHARED}\w*|ffn_shared_out|ffn_moe_shexp", "ffn_down"),
        (r"ffn_gate_up_(?:ch)?exps|ffn_moe_gate_up\w*", "expert_up"),
        (r"ffn_gate(?:_(?:ch)?exps|\.[0-9]+)|ffn_moe_gate\w*", "expert_gate"),
        (r"ffn_moe_(?:\w*lu|(?:swig|si|re)lu_\w+|situ)", "expert_gate"),
        (r"ffn_up(?:_(?:ch)?exps|\.[0-9]+)|ffn_moe_up\w*", "expert_up"),
        (r"ffn_down(?:_(?:ch)?exps|\.[0-9]+)|ffn_(?:final_|adj_)?moe\w*", "expert_down"),
        (r"ffn_gate\w*|ffn[_.](?:x?[a-z]*lu|sqr\(relu\)|swiglu_\w+|silu_\w+|act(?:\.scales)?|mul)", "ffn_gate"),
        (r"vis_gate", "ffn_gate"),
        (r"(?:ffn|channel_mix)_(?:\w+_)?up\w*|vis_up", "ffn_up"),
        (r"ffn_(?:\w+_down|down|out|dense_out|mlp)\w*|vis_down", "ffn_down"),
        (r"(?:kda|mla)_out|attn_wo\w*", "attention_output"),
        (r"(?:ssm|mamba2?|time_mix|channel_mix|shortconv|kda|dnet|linear_attn)[_.].*", "recurrent"),
        (r"(?:conv|r?wkv)(?:[_.0-9].*)?|state_update_target", "recurrent"),
        (r"(?:\w+_)?decay\w*|slope\w*|qk?_s(?:_trans)?|[qk]_trans|qk|g_sigm", "recurrent"),
        (r"(?:token|position|pos|inp|tok|per_layer_token)_embd\w*|embd|embed_tokens|token_types", "embedding"),
        (r"inp_(?:tokens|scaled|gate|mixed_\w+|per_layer\w*)|inpL|ple_\w+|per_layer_\w+|proj", "embedding"),
        (rf"{_ATTENTION_INPUT}o(?:ut(?:put)?\w*|_proj)?|attn_proj|kqv_wo|wo", "attention_output"),
        (rf"{_ATTENTION_INPUT}q(?:_[ab])?|Qcur[-\w]*|q(?:r|_pe|_a|_b|_rope|_nope\w*|_states)?", "attention_q"),
        (rf"{_ATTENTION_INPUT}k(?:_b)?|Kcur[-\w]*|k(?:_pe|_b|_rope|_nope\w*|_states)?", "attention_k"),
        (rf"{_ATTENTION_INPUT}v(?:_b)?|Vcur[-\w]*|v(?:_b|_states|_cont|_trans)?", "attention_v"),
        (r"(?:\w+_)?attn(?:_.*)?|w?qkv\w*|QKVcur\w*|kqv?(?:_.*)?|kv(?:_\w+)?|KQ_mask|self_kq_mask", "attention"),
        (r"rope_\w+|inp_(?:pos|attn_scale)|\w*fattn\w*|pos_b\w+", "attention"),
        (r"(?:indexer|lid|mla|msa|dsv4|csa|hca)[._].*", "attention"),
        (r"output\w*|result_\w+|(?:inp_)?out_ids|cls(?:\..*)?|shared_head_head", "output"),
    )
)


def layer_of(name: str) -> int | None:
    """The layer in a name (`blk.3.…`, `…-3`, `cache_k_l3`, and names derived from these), or None."""
    base = _base(name)
    match = _WEIGHT.fullmatch(base) or _RESULT.fullmatch(base) or _CACHE.fullmatch(base)
    return int(match["layer"]) if match else None


def component_of(name: str) -> str:
    """The component of a weight or of a graph's tensor, by its name: one of tables.COMPONENTS."""
    return _component_in_name(name) or "other"


def _component_in_name(name: str) -> str:
    """The component that a name says, `other` too; empty where it says nothing."""
    base = _base(name)
    match = _WEIGHT.fullmatch(base) or _RESULT.fullmatch(base) or _CACHE.fullmatch(base)
    stem = _SUFFIX.sub("", match["stem"] if match else base).removeprefix("mtp_").removeprefix("nextn.")
    return _component_of_stem(stem)


@lru_cache(maxsize=1024)  # layers have the same stems
def _component_of_stem(stem: str) -> str:
    return next((component for rule, component in _RULES if rule.fullmatch(stem)), "")


def places_of(ops: Sequence[str], names: Sequence[str], operands: Sequence[Sequence[int]], n_nodes: int) -> list[Place]:
    """Layer and component of each node and leaf of a graph, in the order of `names`.

    The first `n_nodes` are nodes in order of execution, the rest leaves. `operands` holds the numbers of each one's
    operands.
    """
    known = {i: (layer_of(names[i]), component_of(names[i])) for i in range(n_nodes, len(names))}
    for i in range(n_nodes):
        known[i] = place_of(ops[i], names[i], [(names[k], known[k]) for k in operands[i] if k in known])
    layers = settle_layers(names[:n_nodes], [known[i][0] for i in range(n_nodes)])
    return [(layers[i] if i < n_nodes else known[i][0], known[i][1]) for i in range(len(names))]


def place_of(op: str, name: str, operands: Sequence[tuple[str, Place]]) -> Place:
    """Layer and component of a graph's node, by its name; by its op and operands when the name does not state them.

    `operands` holds name and place of each. An unnamed node (`node_21`) has the layer of its operands; when they
    differ, the largest, as a layer reads results of earlier ones. A named node without a layer has the layer of its
    weights (`result_embd` may add the bias of the last layer's norm). If the name gives no component (`z-0`,
    `__fgdn_ch__-0`), the op decides, then the weight, then the only operand (a view, a scaling).
    """
    unnamed = bool(_UNNAMED.fullmatch(name))
    component = _component_by_operands(op, operands) if unnamed else _component_in_name(name)
    if not component:
        of_weight = next((place[1] for operand, place in operands if _is_weight(operand)), "")
        component = _OF_OP.get(op) or of_weight or (operands[0][1][1] if len(operands) == 1 else "other")
    layer = layer_of(name)
    if layer is None:
        layers = (of for operand, (of, _) in operands if of is not None and (unnamed or _is_weight(operand)))
        layer = max(layers, default=None)
    return layer, component


def _component_by_operands(op: str, operands: Sequence[tuple[str, Place]]) -> str:
    """The component of an unnamed node.

    The op decides, then a weight among the operands, then a recurrent operand. Otherwise the node has the component
    that its operands share; operands of `attention` (positions, masks, rotations) count only when there is no other.
    Parts of attention together are `attention`.
    """
    components = [component for _, (_, component) in operands]
    weights = [component for operand, (_, component) in operands if _is_weight(operand)]
    if op in _OF_OP:
        return _OF_OP[op]
    if weights:
        return weights[0]
    if "recurrent" in components:
        return "recurrent"
    served = [component for component in components if component != "attention"] or components[:1]
    if len(served) > 1 and all(component.startswith("attention_") for component in served):
        return "attention"
    return served[0] if len(set(served)) == 1 else "other"


def settle_layers(names: Sequence[str], layers: Sequence[int | None]) -> list[int | None]:
    """The layers of nodes in order of execution. An unnamed node between two nodes of one layer gets that layer.

    This corrects two cases: the last layer gathers the rows with outputs by two unnamed GET_ROWS, one of which has an
    operand of the layer before; and a `norm` within a layer may have no layer in its name.
    """
    unnamed = [name in _NORMS or bool(_UNNAMED.fullmatch(name)) for name in names]
    known = [None if skip else layer for layer, skip in zip(layers, unnamed, strict=True)]
    before, after = _filled(known), _filled(known[::-1])[::-1]
    return [
        b if is_unnamed and b is not None and b == a else layer
        for layer, is_unnamed, b, a in zip(layers, unnamed, before, after, strict=True)
    ]


def _is_weight(name: str) -> bool:
    base = _base(name)
    return bool(_WEIGHT.fullmatch(base) or _SUFFIX.search(base))


def _filled(layers: Sequence[int | None]) -> list[int | None]:
    """`layers` with each None replaced by the last known layer before it, if any."""
    filled: list[int | None] = []
    for layer in layers:
        filled.append(layer if layer is not None or not filled else filled[-1])
    return filled


def _base(name: str) -> str:
    """The name without what llama.cpp adds for views and for copies between backends."""
    copy = _BACKEND_COPY.fullmatch(name)
    return _DERIVED.sub("", copy["name"] if copy else name, count=1)
