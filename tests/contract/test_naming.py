import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegen.contract.naming import component_of, layer_of, place_of, places_of, settle_layers
from tracegen.contract.tables import COMPONENTS

WEIGHTS = {
    "embedding": "token_embd.weight, position_embd.weight, blk.46.nextn.embed_tokens.weight, blk.0.ple_key.weight, "
    "per_layer_token_embd.weight, per_layer_model_proj.weight, blk.0.inp_gate.weight, blk.0.proj.weight",
    "attention_q": "blk.0.attn_q.weight, blk.0.attn_q_a.weight, blk.0.attn_q.weight.lora_a",
    "attention_k": "blk.11.attn_k.bias",
    "attention_v": "blk.0.attn_v.weight",
    "attention": "blk.0.attn_qkv.weight, blk.0.attn_kv_a_mqa.weight, blk.0.attn_sinks.weight, rope_freqs.weight",
    "attention_output": "blk.0.attn_output.weight, enc.blk.0.attn_o.weight",
    "norm": (
        "blk.0.attn_norm.weight, blk.0.attn_output_norm.weight, blk.0.attn_q_norm.weight, "
        "blk.0.ffn_norm_exps.weight, blk.0.time_mix_ln.weight, blk.46.nextn.hnorm.weight, "
        "blk.0.ssm_norm.weight, output_norm.weight, blk.0.hc_attn_norm.weight"
    ),
    "ffn_gate": "blk.0.ffn_gate.weight, blk.0.ffn_gate_shexp.weight, blk.0.ffn.act.scales",
    "ffn_up": "blk.0.ffn_up.weight, blk.0.ffn_up_shexp.weight, blk.0.ffn_latent_up.weight",
    "ffn_down": "blk.0.ffn_down.weight, blk.0.ffn_down_shexp.weight, blk.0.ffn_routed_down.weight",
    "router": "blk.0.ffn_gate_inp.weight, blk.0.ffn_gate_inp_shexp.weight, blk.0.exp_probs_b.bias",
    "expert_gate": "blk.0.ffn_gate_exps.weight, blk.0.ffn_gate_exps.bias",
    "expert_up": "blk.0.ffn_up_exps.weight, blk.0.ffn_gate_up_exps.weight",
    "expert_down": "blk.0.ffn_down_exps.weight, blk.0.ffn_down.7.weight",
    "recurrent": "blk.0.ssm_conv1d.weight, blk.0.time_mix_key.weight",
    "output": "blk.46.nextn.shared_head_head.weight, output.weight",
    "other": "output_hc_fn.weight, blk.0.hc_attn_base.weight, blk.0.attn_res_score.weight, something_new.weight",
}
RESULTS = {
    "embedding": "inp_embd, inp_tokens, embd, inp_per_layer_selected, per_layer_proj, per_layer_embd_out-3",
    "attention_q": "Qcur-0, Qcur-0 (view) (permuted), q_pe-0, Qcur-post-rope-0",
    "norm": "Qcur_normed-0, attn_norm-1, norm-0, norm, ffn_norm-0, result_norm",
    "attention_k": "Kcur-0",
    "attention_v": "Vcur-0 (reshaped)",
    "attention": (
        "kv-0, csa_state_compress-2, msa_block_mask-1, dsv4_csa_kq_mask, kq-0, kqv-0, kq_soft_max-0, "
        "__fattn__-0, kqv_out-0, attn_inp_kq_mask, inp_pos, CPU#attn_inp_kq_mask#0"
    ),
    "kv_cache": (
        "dsv4_csa_state_kv_l2 (view), cache_k_l0 (view), cache_v_l0 (view) (copy of Vcur-0 (view)), "
        "attn_inp_k_idxs, cache_v_l0 (reshaped) (view)"
    ),
    "recurrent": "q_decay-0, cache_r_l0, cache_s_l0 (reshaped)",
    "attention_output": "attn_wo_a-0, mla_out-0, attn_out-0",
    "other": "ffn_inp-0, l_out-0, node_12, leaf_3, ",  # and an empty name
    "ffn_gate": "ffn_gate-0, ffn_swiglu-0, ffn_silu-0, ffn_sqr(relu)-0",
    "ffn_up": "ffn_up-0",
    "ffn_down": "ffn_out-0, ffn_shexp-0",
    "router": (
        "ffn_moe_logits-0, ffn_moe_probs-0 (reshaped), ffn_moe_argsort-0, ffn_moe_topk-3, "
        "ffn_moe_weights_norm-0, ffn_moe_weights_sum_clamped-0"
    ),
    "expert_gate": "ffn_moe_gate-0, ffn_moe_swiglu-0, ffn_moe_swiglu_oai-0",
    "expert_up": "ffn_moe_gate_up-0, ffn_moe_up-0",
    "expert_down": "ffn_moe_down-0, ffn_moe_weighted-0, ffn_moe_out-0, ffn_moe_weighted-0 (view)",
    "output": "out_ids, result_output, inp_out_ids",
}


@pytest.mark.parametrize(
    ("name", "component"),
    [
        (name, component)
        for names_by_component in (WEIGHTS, RESULTS)
        for component, names in names_by_component.items()
        for name in names.split(", ")
    ],
)
def test_the_component_follows_from_the_name(name: str, component: str) -> None:
    assert component_of(name) == component


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("blk.0.attn_q.weight", 0),
        ("blk.31.ffn_gate.7.weight", 31),
        ("enc.blk.4.attn_o.weight", 4),
        ("Qcur-7 (view) (permuted)", 7),
        ("cache_k_l12", 12),
        ("dsv4_csa_state_kv_l2 (view)", 2),
        ("cache_v_l3 (view) (copy of Vcur-9)", 3),
        ("CPU#l_out-5#1", 5),
        ("token_embd.weight", None),
        ("result_output", None),
        ("node_12", None),
        ("leaf_3-4", None),
        ("blk.x.attn_q", None),
        ("Qcur-٣", None),
        ("Qcur-99999999999", None),
        ("", None),
    ],
)
def test_the_layer_follows_from_the_name(name: str, layer: int | None) -> None:
    assert layer_of(name) == layer


@pytest.mark.parametrize(
    ("op", "name", "operands", "place"),
    [
        (
            "FLASH_ATTN_EXT",
            "node_52",
            ["Qcur-1 (view) (permuted)", "cache_k_l1 (view) (permuted)", "cache_v_l1 (view)", "attn_inp_kq_mask"],
            (1, "attention"),
        ),
        ("MUL_MAT", "node_9", ["blk.3.attn_output.weight", "kqv_out-3"], (3, "attention_output")),
        ("ADD", "", ["node_1", "node_2"], (None, "other")),
        ("CONCAT", "node_7", ["Qcur-1", "Kcur-1"], (1, "attention")),
        ("ADD", "node_39", ["node_38", "token_embd_norm.bias"], (None, "norm")),
        ("MUL_MAT", "node_9", ["blk.1.attn_q.weight.lora_a", "attn_norm-1"], (1, "attention_q")),
        ("SSM_SCAN", "node_36", ["cache_s_l0 (reshaped)", " (view)", "node_33", "blk.0.ssm_a"], (0, "recurrent")),
        ("GET_ROWS", "node_5", ["cache_r_l2 (reshaped)", "rs_s_copy (view)"], (2, "recurrent")),
        ("NORM", "node_72", ["cache_s_l2"], (2, "norm")),
        ("SIGMOID", "beta_sigmoid-2", ["cache_s_l2"], (2, "recurrent")),
        ("VIEW", "logits_seq_0_0", ["result_output"], (None, "other")),
        ("ADD", "node_80", ["attn_out-1", "l_out-0"], (1, "other")),
        ("VIEW", " (view)", ["Qcur-1"], (1, "attention_q")),
        ("ADD", "result_embd", ["node_118", "blk.1.layer_output_norm.bias"], (1, "output")),
        ("ADD", "Qcur-2", ["Qcur-2", "blk.3.attn_k.bias"], (2, "attention_q")),
        ("MUL_MAT", "z-0", ["blk.0.attn_gate.weight", "attn_norm-0"], (0, "attention")),
        ("GATED_DELTA_NET", "__fgdn_ch__-0", ["q_conv-0", "beta-0"], (0, "recurrent")),
        ("CPY", "state_update_target-0 (copy of last_conv_states-0)", ["last_conv_states-0"], (0, "recurrent")),
        ("GET_ROWS", "model.embed_tokens", ["token_embd.weight", "inp_tokens"], (None, "embedding")),
        ("ADD", "ffn_inp-0", ["mamba_out-0", "embd"], (0, "other")),
        ("CPY", "attn_inp_kq_mask (copy)", ["Qcur-1"], (None, "attention")),
        ("MUL_MAT", "node_7", ["attn_inp_k_rot", "Qcur-0 (reshaped)"], (0, "attention_q")),
        ("MUL_MAT", "node_33", ["attn_inp_v_rot", "kqv_out-0 (reshaped)"], (0, "attention")),
    ],
)
def test_place_of_a_node(op: str, name: str, operands: list[str], place: tuple[int | None, str]) -> None:
    named = [(operand, (layer_of(operand), component_of(operand))) for operand in operands]
    assert place_of(op, name, named) == place


@given(st.text())
def test_any_text_has_a_component_and_a_layer_that_fits(name: str) -> None:
    assert component_of(name) in COMPONENTS
    layer = layer_of(name)
    assert layer is None or 0 <= layer < 2**31


def test_an_unnamed_node_between_two_of_a_layer_is_of_that_layer() -> None:
    names = ["l_out-2", "Qcur-3", "node_7", "kqv_out-3", "node_8", "ffn_inp-3", "node_9", "result_norm", "node_10"]
    layers = [2, 3, None, 3, 2, 3, 3, None, None]
    assert settle_layers(names, layers) == [2, 3, 3, 3, 3, 3, 3, None, None]
    norms = ["norm", "ffn_out-3", "norm", " (view)", "ffn_post_norm-3", "norm", "result_norm"]
    assert settle_layers(norms, [None, 3, None, None, 3, None, None]) == [None, 3, 3, 3, 3, None, None]


def test_what_follows_from_a_recurrent_state_is_of_its_layer_where_the_next_layer_has_begun_between() -> None:
    """Unnamed views and functions keep the layer of their operand; llama.cpp reads the next layer's state early."""
    graph: list[tuple[str, str, list[int], tuple[int | None, str]]] = [
        ("MUL_MAT", "node_0", [7, 8], (0, "recurrent")),
        ("CPY", "cache_r_l1 (view) (copy of )", [], (1, "recurrent")),
        ("VIEW", " (view)", [0], (0, "recurrent")),
        ("SILU", "node_3", [2], (0, "recurrent")),
        ("ADD", "node_4", [3, 0], (0, "recurrent")),
        ("ADD", "l_out-0", [4, 8], (0, "other")),
        ("RMS_NORM", "norm-1", [5], (1, "norm")),
        ("NONE", "blk.0.ssm_in.weight", [], (0, "recurrent")),
        ("NONE", "embd", [], (None, "embedding")),
    ]
    ops, names, operands, places = map(list, zip(*graph, strict=True))
    assert places_of(ops, names, operands, n_nodes=7) == places


def test_operands_that_come_later_or_are_not_there_are_passed_over() -> None:
    assert places_of(["ADD", "ADD"], ["node_0", "Qcur-1"], [[1, 9], [0]], n_nodes=2) == [
        (None, "other"),
        (1, "attention_q"),
    ]
