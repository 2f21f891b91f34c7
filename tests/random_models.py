"""Tiny models with random weights, of the architectures that people trace.

Each architecture is a table: its metadata, and its tensors with the component that the product must
find for them, written by hand and not by naming.py. Sizes are as small as llama.cpp's kernels allow.
"""

from dataclasses import replace

from tracegen.measure.demo.architecture import Architecture, Value, Weight
from tracegen.measure.demo.gpt_oss import gpt_oss
from tracegen.measure.demo.layers import EPSILON, attending, attention, embeddings, experts, norms

N_VOCAB = 384
CONTEXT = 512


def _embeddings(embd: int, tied: bool = False) -> tuple[Weight, ...]:
    return embeddings(embd, N_VOCAB, tied)


def _feed_forward(embd: int, ff: int, suffix: str = "") -> tuple[Weight, ...]:
    return (
        Weight(f"ffn_gate{suffix}.weight", "ffn_gate", (embd, ff)),
        Weight(f"ffn_up{suffix}.weight", "ffn_up", (embd, ff)),
        Weight(f"ffn_down{suffix}.weight", "ffn_down", (ff, embd)),
    )


LLAMA = Architecture(
    "llama",
    attending(256, 512, rope__dimension_count=64),
    (*_embeddings(256), Weight("rope_freqs.weight", "attention", (32,))),
    ((*norms(256, "attn_norm", "ffn_norm"), *attention(256, 256, 128), *_feed_forward(256, 512)),) * 2,
)

QWEN2 = Architecture(
    "qwen2",
    attending(64, 128),
    _embeddings(64),
    ((*norms(64, "attn_norm", "ffn_norm"), *attention(64, 64, 32, bias=True), *_feed_forward(64, 128)),) * 2,
)

_QWEN3 = (*norms(64, "attn_norm", "ffn_norm"), *norms(32, "attn_q_norm", "attn_k_norm"), *attention(64, 128, 64))
_WIDE_HEADS: dict[str, Value] = {"attention.key_length": 32, "attention.value_length": 32}

QWEN3 = Architecture(
    "qwen3",
    {**attending(64, 128), **_WIDE_HEADS},
    _embeddings(64, tied=True),
    ((*_QWEN3, *_feed_forward(64, 128)),) * 2,
)

QWEN3_MOE = Architecture(
    "qwen3moe",
    {**attending(64, 128, expert_count=8, expert_used_count=2, expert_feed_forward_length=96), **_WIDE_HEADS},
    _embeddings(64),
    ((*_QWEN3, *experts(64, 96, 8)),) * 2,
)

GEMMA3 = Architecture(
    "gemma3",
    {**attending(64, 128, attention__sliding_window=8, attention__sliding_window_pattern=2), **_WIDE_HEADS},
    _embeddings(64, tied=True),
    ((*_QWEN3, *norms(64, "post_attention_norm", "post_ffw_norm"), *_feed_forward(64, 128)),) * 3,
)

PHI3 = Architecture(
    "phi3",
    attending(64, 128, rope__dimension_count=16, rope__scaling__original_context_length=128),
    (
        *_embeddings(64),
        Weight("rope_factors_long.weight", "attention", (8,)),
        Weight("rope_factors_short.weight", "attention", (8,)),
    ),
    (
        (
            *norms(64, "attn_norm", "ffn_norm"),
            Weight("attn_qkv.weight", "attention", (64, 128)),
            Weight("attn_output.weight", "attention_output", (64, 64)),
            Weight("ffn_up.weight", "ffn_up", (64, 256)),  # gate and up in one
            Weight("ffn_down.weight", "ffn_down", (128, 64)),
        ),
    )
    * 2,
    unread=frozenset({"rope_factors_short.weight"}),
)

_GLM = (*norms(64, "attn_norm", "post_attention_norm"), *attention(64, 64, 32, bias=True))
_GLM_EXPERTS = (*experts(64, 96, 4), Weight("exp_probs_b.bias", "router", (4,)), *_feed_forward(64, 96, "_shexp"))
_NEXT_TOKEN = (
    Weight("nextn.eh_proj.weight", "other", (128, 64)),
    Weight("nextn.embed_tokens.weight", "embedding", (64, N_VOCAB)),
    Weight("nextn.shared_head_head.weight", "output", (64, N_VOCAB)),
    *norms(64, "nextn.enorm", "nextn.hnorm", "nextn.shared_head_norm"),
)

GLM4_MOE = Architecture(
    "glm4moe",
    {
        **attending(64, 128, expert_count=4, expert_used_count=2, expert_shared_count=1, nextn_predict_layers=1),
        "expert_feed_forward_length": 96,
        "leading_dense_block_count": 1,
        "rope.dimension_count": 16,
    },
    _embeddings(64),
    (
        (*_GLM, *_feed_forward(64, 128)),
        (*_GLM, *_GLM_EXPERTS),
        (*_GLM, *_GLM_EXPERTS, *_NEXT_TOKEN),
    ),
    unread=frozenset(f"blk.2.{weight.name}" for weight in (*_GLM, *_GLM_EXPERTS, *_NEXT_TOKEN)),
)

_MLA = (
    *norms(64, "attn_norm", "ffn_norm", "attn_kv_a_norm"),
    *norms(32, "attn_q_a_norm"),
    Weight("attn_q_a.weight", "attention_q", (64, 32)),
    Weight("attn_q_b.weight", "attention_q", (32, 192)),
    Weight("attn_kv_a_mqa.weight", "attention", (64, 80)),  # compressed K and V in one
    Weight("attn_k_b.weight", "attention_k", (32, 64, 4)),
    Weight("attn_v_b.weight", "attention_v", (64, 32, 4)),
    Weight("attn_output.weight", "attention_output", (128, 64)),
)

DEEPSEEK2 = Architecture(
    "deepseek2",
    {
        **attending(64, 128, kv_heads=1, expert_count=4, expert_used_count=2, expert_shared_count=1),
        "expert_feed_forward_length": 96,
        "leading_dense_block_count": 1,
        "rope.dimension_count": 16,
        "attention.q_lora_rank": 32,
        "attention.kv_lora_rank": 64,
        "attention.key_length": 80,
        "attention.value_length": 64,
        "attention.key_length_mla": 48,
        "attention.value_length_mla": 32,
    },
    _embeddings(64),
    ((*_MLA, *_feed_forward(64, 128)), (*_MLA, *_GLM_EXPERTS)),
)

GPT_OSS = gpt_oss(
    n_layers=4,
    embd=64,
    heads=4,
    kv_heads=2,
    head=32,
    ff=96,
    n_experts=8,
    n_used=2,
    window=8,
    n_vocab=N_VOCAB,
    context=CONTEXT,
)


def _state_space(*parts: tuple[str, tuple[int, ...], bool]) -> tuple[Weight, ...]:
    return tuple(Weight(name, "recurrent", shape, plain) for name, shape, plain in parts)


MAMBA = Architecture(
    "mamba",
    {
        "embedding_length": 64,
        "feed_forward_length": 0,
        "attention.head_count": 0,
        EPSILON: 1e-5,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 128,
        "ssm.state_size": 16,
        "ssm.time_step_rank": 4,
    },
    _embeddings(64),
    (
        (
            *norms(64, "attn_norm"),
            *_state_space(
                ("ssm_in.weight", (64, 256), False),
                ("ssm_conv1d.weight", (4, 128), True),
                ("ssm_conv1d.bias", (128,), True),
                ("ssm_x.weight", (128, 36), False),
                ("ssm_dt.weight", (4, 128), True),
                ("ssm_dt.bias", (128,), True),
                ("ssm_a", (16, 128), True),
                ("ssm_d", (128,), True),
                ("ssm_out.weight", (128, 64), False),
            ),
        ),
    )
    * 2,
)

_MAMBA2 = (
    *norms(64, "attn_norm"),
    *_state_space(
        ("ssm_in.weight", (64, 324), False),
        ("ssm_conv1d.weight", (4, 192), True),
        ("ssm_conv1d.bias", (192,), True),
        ("ssm_dt.bias", (4,), True),
        ("ssm_a", (1, 4), True),
        ("ssm_d", (1, 4), True),
        ("ssm_out.weight", (128, 64), False),
    ),
    Weight("ssm_norm.weight", "norm", (128, 1), plain=True),
)
_SHARED_AND_EXPERTS = (*norms(64, "ffn_norm"), *experts(64, 96, 4), *_feed_forward(64, 96, "_shexp"))

GRANITE_HYBRID = Architecture(
    "granitehybrid",
    {
        **attending(64, 96, expert_count=4, expert_used_count=2, expert_shared_feed_forward_length=96),
        "attention.head_count_kv": [0, 2, 0],
        "rope.dimension_count": 16,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 128,
        "ssm.state_size": 32,
        "ssm.time_step_rank": 4,
        "ssm.group_count": 1,
    },
    _embeddings(64),
    (
        (*_MAMBA2, *_SHARED_AND_EXPERTS),
        (*norms(64, "attn_norm"), *attention(64, 64, 32), *_SHARED_AND_EXPERTS),
        (*_MAMBA2, *_SHARED_AND_EXPERTS),
    ),
)

_QWEN_EXPERTS = (
    *norms(64, "post_attention_norm"),
    *experts(64, 96, 4),
    *_feed_forward(64, 96, "_shexp"),
    Weight("ffn_gate_inp_shexp.weight", "router", (64,)),
)

QWEN3_NEXT = Architecture(
    "qwen3next",
    {
        **attending(64, 96, expert_count=4, expert_used_count=2, expert_shared_feed_forward_length=96),
        **_WIDE_HEADS,
        "expert_feed_forward_length": 96,
        "full_attention_interval": 2,
        "rope.dimension_count": 16,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 128,
        "ssm.state_size": 32,
        "ssm.time_step_rank": 4,
        "ssm.group_count": 2,
    },
    _embeddings(64),
    (
        (
            *norms(64, "attn_norm"),
            Weight("attn_qkv.weight", "attention", (64, 256)),
            Weight("attn_gate.weight", "attention", (64, 128)),
            *_state_space(
                ("ssm_conv1d.weight", (4, 256), True),
                ("ssm_dt.bias", (4,), True),
                ("ssm_a", (4,), True),
                ("ssm_ba.weight", (64, 8), False),
                ("ssm_out.weight", (128, 64), False),
            ),
            *norms(32, "ssm_norm"),
            *_QWEN_EXPERTS,
        ),
        (
            *norms(64, "attn_norm"),
            *norms(32, "attn_q_norm", "attn_k_norm"),
            Weight("attn_q.weight", "attention_q", (64, 256)),  # with a gate as wide as Q
            Weight("attn_k.weight", "attention_k", (64, 64)),
            Weight("attn_v.weight", "attention_v", (64, 64)),
            Weight("attn_output.weight", "attention_output", (128, 64)),
            *_QWEN_EXPERTS,
        ),
    ),
)

RWKV7 = Architecture(
    "rwkv7",
    {
        "embedding_length": 128,
        "feed_forward_length": 256,
        "attention.head_count": 0,
        "attention.layer_norm_epsilon": 1e-5,
        "wkv.head_size": 64,
        "token_shift_count": 2,
        **{f"attention.{part}_lora_rank": 32 for part in ("decay", "iclr", "value_residual_mix", "gate")},
    },
    (
        *_embeddings(128),
        Weight("output_norm.bias", "norm", (128,)),
        *norms(128, "token_embd_norm", bias=True),
    ),
    (
        (
            *norms(128, "attn_norm", "attn_norm_2", "time_mix_ln", bias=True),
            *_state_space(
                *((f"time_mix_{name}0.weight", (128,), True) for name in "wav"),
                *((f"time_mix_{name}1.weight", (128, 32), False) for name in "wavg"),
                *((f"time_mix_{name}2.weight", (32, 128), False) for name in "wavg"),
                *((f"time_mix_{name}.weight", (128,), True) for name in ("k_k", "k_a", "r_k")),
                *((f"time_mix_{n}.weight", (128, 128), False) for n in ("key", "value", "receptance", "output")),
                ("time_mix_lerp_fused.weight", (128, 1, 1, 6), True),
                ("channel_mix_lerp_k.weight", (128, 1, 1), True),
                ("channel_mix_key.weight", (128, 256), False),
                ("channel_mix_value.weight", (256, 128), False),
            ),
        ),
    )
    * 2,
    unread=frozenset(f"blk.0.time_mix_v{number}.weight" for number in range(3)),
)

RWKV6 = Architecture(
    "rwkv6",
    {
        "embedding_length": 128,
        "feed_forward_length": 256,
        "attention.head_count": 0,
        "attention.layer_norm_epsilon": 1e-5,
        "wkv.head_size": 64,
        "token_shift_count": 2,
        "rescale_every_n_layers": 0,
        "time_mix_extra_dim": 32,
        "time_decay_extra_dim": 64,
    },
    RWKV7.outside,
    (
        (
            *norms(128, "attn_norm", "attn_norm_2", "time_mix_ln", bias=True),
            *_state_space(
                ("time_mix_w1.weight", (128, 160), False),
                ("time_mix_w2.weight", (32, 128, 5), False),
                ("time_mix_lerp_x.weight", (128, 1, 1), True),
                ("time_mix_lerp_fused.weight", (128, 1, 1, 5), True),
                ("time_mix_first.weight", (64, 2), True),
                ("time_mix_decay.weight", (128,), True),
                ("time_mix_decay_w1.weight", (128, 64), False),
                ("time_mix_decay_w2.weight", (64, 128), False),
                *(
                    (f"time_mix_{n}.weight", (128, 128), False)
                    for n in ("key", "value", "receptance", "gate", "output")
                ),
                *((f"channel_mix_lerp_{n}.weight", (128, 1, 1), True) for n in "kr"),
                ("channel_mix_key.weight", (128, 256), False),
                ("channel_mix_value.weight", (256, 128), False),
                ("channel_mix_receptance.weight", (128, 128), False),
            ),
        ),
    )
    * 2,
)

EAGLE3_TARGET = Architecture(
    "llama",
    attending(64, 128, rope__dimension_count=16),
    _embeddings(64),
    ((*norms(64, "attn_norm", "ffn_norm"), *attention(64, 64, 32), *_feed_forward(64, 128)),) * 4,
)
EAGLE3 = Architecture(  # it takes what three layers of the target hand on, and drafts for it
    "eagle3",
    {**attending(64, 128, rope__dimension_count=16), "target_layers": [0, 1, 3], "target_hidden_size": 64},
    (*_embeddings(64), Weight("fc.weight", "other", (192, 64))),
    (
        (
            *norms(64, "attn_norm", "attn_norm_2", "ffn_norm"),
            Weight("attn_q.weight", "attention_q", (128, 64)),  # of the token and of what the target computed
            Weight("attn_k.weight", "attention_k", (128, 32)),
            Weight("attn_v.weight", "attention_v", (128, 32)),
            Weight("attn_output.weight", "attention_output", (64, 64)),
            *_feed_forward(64, 128),
        ),
    ),
)

_GEMMA4 = (
    *norms(64, "attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm", "post_norm"),
    *_feed_forward(64, 128),
    Weight("inp_gate.weight", "embedding", (64, 32)),
    Weight("proj.weight", "embedding", (32, 64)),
    Weight("layer_output_scale.weight", "other", (1,), plain=True),
)
_GEMMA4_EXPERTS = (
    *norms(64, "pre_ffw_norm_2", "post_ffw_norm_1", "post_ffw_norm_2"),
    *experts(64, 96, 8),
    Weight("ffn_gate_inp.scale", "router", (64,), plain=True),
)


def _gemma4_layer(head: int, cached: bool) -> tuple[Weight, ...]:
    """A layer with heads of this size; the last ones take keys and values of earlier ones."""
    q, kv = 4 * head, 2 * head
    weights = (*norms(head, "attn_q_norm", "attn_k_norm"), *attention(64, q, kv), *_GEMMA4, *_GEMMA4_EXPERTS)
    return tuple(of for of in weights if cached or not of.name.startswith(("attn_k.", "attn_v.", "attn_k_norm.")))


GEMMA4 = Architecture(
    "gemma4",
    {
        **attending(64, 128, expert_count=8, expert_used_count=2, expert_feed_forward_length=96),
        "embedding_length_per_layer_input": 32,
        "attention.key_length": 64,
        "attention.value_length": 64,
        "attention.key_length_swa": 32,
        "attention.value_length_swa": 32,
        "attention.sliding_window": 8,
        "attention.sliding_window_pattern": [True, False, True, False],
        "attention.shared_kv_layers": 2,
        "rope.dimension_count": 64,
        "rope.dimension_count_swa": 32,
        "final_logit_softcapping": 30.0,
    },
    (
        *_embeddings(64, tied=True),
        Weight("per_layer_token_embd.weight", "embedding", (128, N_VOCAB)),
        Weight("per_layer_model_proj.weight", "embedding", (64, 128)),
        *norms(32, "per_layer_proj_norm"),
        Weight("rope_freqs.weight", "attention", (32,), plain=True),
    ),
    tuple(_gemma4_layer(head, cached) for head, cached in ((32, True), (64, True), (32, False), (64, False))),
)

BERT = Architecture(
    "bert",
    {
        "embedding_length": 64,
        "feed_forward_length": 128,
        "attention.head_count": 4,
        "attention.layer_norm_epsilon": 1e-5,
        "attention.causal": False,
        "pooling_type": 1,
        "tokenizer.ggml.token_type_count": 2,
    },
    (
        Weight("token_embd.weight", "embedding", (64, N_VOCAB)),
        Weight("token_types.weight", "embedding", (64, 2), plain=True),
        Weight("position_embd.weight", "embedding", (64, CONTEXT), plain=True),
        *norms(64, "token_embd_norm", bias=True),
    ),
    (
        (
            *attention(64, 64, 64, bias=True, output_bias=True),
            *norms(64, "attn_output_norm", "layer_output_norm", bias=True),
            Weight("ffn_up.weight", "ffn_up", (64, 128)),
            Weight("ffn_up.bias", "ffn_up", (128,)),
            Weight("ffn_down.weight", "ffn_down", (128, 64)),
            Weight("ffn_down.bias", "ffn_down", (64,)),
        ),
    )
    * 2,
)


def _block(side: str, number: int) -> tuple[Weight, ...]:
    """A layer of an encoder or decoder; that of a decoder attends to the encoder's result, too."""
    attentions = ("attn", "cross_attn") if side == "dec" else ("attn",)
    parts = {"q": "attention_q", "k": "attention_k", "v": "attention_v", "o": "attention_output"}
    weights = (
        *(Weight(f"{of}_{part}.weight", parts[part], (64, 64)) for of in attentions for part in parts),
        *norms(64, *(f"{of}_norm" for of in attentions), "ffn_norm"),
        *((Weight("attn_rel_b.weight", "attention", (4, 32), plain=True),) if number == 0 else ()),
        Weight("ffn_up.weight", "ffn_up", (64, 128)),
        Weight("ffn_down.weight", "ffn_down", (128, 64)),
    )
    return tuple(replace(weight, name=f"{side}.blk.{number}.{weight.name}") for weight in weights)


T5 = Architecture(
    "t5",
    {
        "embedding_length": 64,
        "feed_forward_length": 128,
        "attention.head_count": 4,
        "attention.layer_norm_epsilon": 1e-6,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "attention.relative_buckets_count": 32,
        "decoder_start_token_id": 0,
    },
    (
        Weight("token_embd.weight", "embedding", (64, N_VOCAB)),
        *norms(64, "enc.output_norm", "dec.output_norm"),
        *(weight for side in ("enc", "dec") for number in (0, 1) for weight in _block(side, number)),
    ),
    ((), ()),  # two layers on each side, whose names say which
)
