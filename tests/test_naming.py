from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegen.naming import component_of, layer_of, place_of, settle_layers
from tracegen.tables import COMPONENTS

WEIGHTS = {
    "token_embd.weight": "embedding",
    "position_embd.weight": "embedding",
    "blk.0.attn_q.weight": "attention_q",
    "blk.0.attn_q_a.weight": "attention_q",
    "blk.11.attn_k.bias": "attention_k",
    "blk.0.attn_v.weight": "attention_v",
    "blk.0.attn_qkv.weight": "attention",
    "blk.0.attn_kv_a_mqa.weight": "attention",
    "blk.0.attn_sinks.weight": "attention",
    "blk.0.attn_output.weight": "attention_output",
    "blk.0.attn_norm.weight": "norm",
    "blk.0.attn_output_norm.weight": "norm",
    "blk.0.attn_q_norm.weight": "norm",
    "blk.0.ffn_norm_exps.weight": "norm",
    "blk.0.ffn_gate.weight": "ffn_gate",
    "blk.0.ffn_up.weight": "ffn_up",
    "blk.0.ffn_down.weight": "ffn_down",
    "blk.0.ffn_gate_inp.weight": "router",
    "blk.0.ffn_gate_inp_shexp.weight": "router",
    "blk.0.exp_probs_b.bias": "router",
    "blk.0.ffn_gate_exps.weight": "expert_gate",
    "blk.0.ffn_gate_exps.bias": "expert_gate",
    "blk.0.ffn_up_exps.weight": "expert_up",
    "blk.0.ffn_gate_up_exps.weight": "expert_up",
    "blk.0.ffn_down_exps.weight": "expert_down",
    "blk.0.ffn_down.7.weight": "expert_down",
    "blk.0.ffn_gate_shexp.weight": "ffn_gate",
    "blk.0.ffn_up_shexp.weight": "ffn_up",
    "blk.0.ffn_down_shexp.weight": "ffn_down",
    "blk.0.ssm_conv1d.weight": "recurrent",
    "blk.0.time_mix_key.weight": "recurrent",
    "enc.blk.0.attn_o.weight": "attention_output",
    "output_norm.weight": "norm",
    "output.weight": "output",
    "rope_freqs.weight": "attention",
    "something_new.weight": "other",
}
RESULTS = {
    "inp_embd": "embedding",
    "Qcur-0": "attention_q",
    "Qcur-0 (view) (permuted)": "attention_q",
    "Qcur_normed-0": "norm",
    "Kcur-0": "attention_k",
    "Vcur-0 (reshaped)": "attention_v",
    "q_pe-0": "attention_q",
    "cache_k_l0 (view)": "kv_cache",
    "cache_v_l0 (view) (copy of Vcur-0 (view))": "kv_cache",
    "cache_r_l0": "recurrent",
    "cache_s_l0 (reshaped)": "recurrent",
    "kq-0": "attention",
    "kqv-0": "attention",
    "kq_soft_max-0": "attention",
    "__fattn__-0": "attention",
    "kqv_out-0": "attention",
    "attn_inp_kq_mask": "attention",
    "attn_inp_k_idxs": "kv_cache",
    "attn_out-0": "attention_output",
    "attn_norm-1": "norm",
    "norm-0": "norm",
    "norm": "norm",
    "ffn_norm-0": "norm",
    "result_norm": "norm",
    "ffn_inp-0": "other",
    "l_out-0": "other",
    "ffn_gate-0": "ffn_gate",
    "ffn_swiglu-0": "ffn_gate",
    "ffn_silu-0": "ffn_gate",
    "ffn_up-0": "ffn_up",
    "ffn_out-0": "ffn_down",
    "ffn_moe_logits-0": "router",
    "ffn_moe_probs-0 (reshaped)": "router",
    "ffn_moe_argsort-0": "router",
    "ffn_moe_topk-3": "router",
    "ffn_moe_weights_norm-0": "router",
    "ffn_moe_gate-0": "expert_gate",
    "ffn_moe_gate_up-0": "expert_up",
    "ffn_moe_swiglu-0": "expert_gate",
    "ffn_moe_swiglu_oai-0": "expert_gate",
    "ffn_moe_up-0": "expert_up",
    "ffn_moe_down-0": "expert_down",
    "ffn_moe_weighted-0": "expert_down",
    "ffn_moe_out-0": "expert_down",
    "ffn_shexp-0": "ffn_down",
    "ffn_moe_weights_sum_clamped-0": "router",
    "ffn_moe_weighted-0 (view)": "expert_down",
    "cache_v_l0 (reshaped) (view)": "kv_cache",
    "inp_pos": "attention",
    "inp_tokens": "embedding",
    "embd": "embedding",
    "out_ids": "output",
    "result_output": "output",
    "inp_out_ids": "output",
    "node_12": "other",
    "leaf_3": "other",
    "CPU#attn_inp_kq_mask#0": "attention",
    "": "other",
}


@pytest.mark.parametrize(("name", "component"), [*WEIGHTS.items(), *RESULTS.items()])
def test_component_of(name: str, component: str) -> None:
    assert component_of(name) == component


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("blk.0.attn_q.weight", 0),
        ("blk.31.ffn_gate.7.weight", 31),
        ("enc.blk.4.attn_o.weight", 4),
        ("blk.2.attn_k.weight (transposed)", 2),
        ("Qcur-7", 7),
        ("Qcur-7 (view) (permuted)", 7),
        ("cache_k_l12", 12),
        ("cache_v_l3 (view)", 3),
        ("cache_v_l3 (view) (copy of Vcur-9)", 3),
        ("CPU#l_out-5#1", 5),
        ("token_embd.weight", None),
        ("result_output", None),
        ("leaf_3", None),
        ("node_12", None),
        ("leaf_3-4", None),
        ("blk.x.attn_q", None),
        ("Qcur-٣", None),
        ("Qcur-99999999999", None),
        ("", None),
    ],
)
def test_layer_of(name: str, layer: int | None) -> None:
    assert layer_of(name) == layer


@pytest.mark.parametrize(
    ("op", "name", "operands", "place"),
    [
        ("MUL_MAT", "Qcur-2", ["blk.2.attn_q.weight", "attn_norm-2"], (2, "attention_q")),
        (
            "FLASH_ATTN_EXT",
            "node_52",
            [
                "Qcur-1 (view) (permuted)",
                "cache_k_l1 (view) (permuted)",
                "cache_v_l1 (view)",
                "attn_inp_kq_mask",
            ],
            (1, "attention"),
        ),
        ("MUL_MAT", "node_9", ["blk.3.attn_output.weight", "kqv_out-3"], (3, "attention_output")),
        ("GET_ROWS", "node_117", ["attn_out-3", "out_ids"], (3, "other")),
        ("ADD", "", ["node_1", "node_2"], (None, "other")),
    ],
)
def test_place_of_a_node(op: str, name: str, operands: list[str], place: tuple[int | None, str]) -> None:
    assert place_of(op, name, operands) == place


@given(st.text())
def test_any_text_has_a_component_and_a_layer_that_fits(name: str) -> None:
    assert component_of(name) in COMPONENTS
    layer = layer_of(name)
    assert layer is None or 0 <= layer < 2**31


def test_an_unnamed_node_between_two_of_a_layer_is_of_that_layer() -> None:
    names = ["l_out-2", "Qcur-3", "node_7", "kqv_out-3", "node_8", "ffn_inp-3", "node_9", "result_norm", "node_10"]
    layers = [2, 3, None, 3, 2, 3, 3, None, None]
    assert settle_layers(names, layers) == [2, 3, 3, 3, 3, 3, 3, None, None]
