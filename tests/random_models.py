"""Tiny models with random weights, of the architectures that people trace.

Each architecture is a table: its metadata, and its tensors with the component that the product must
find for them, told by hand and not by naming.py. Sizes are as small as llama.cpp's kernels allow;
`gpt_oss` gives its architecture in any size.
"""

from __future__ import annotations

from tests.random_files import CONTEXT, N_VOCAB, Architecture, Value, Weight

_EPSILON = "attention.layer_norm_rms_epsilon"


def _embeddings(embd: int, tied: bool = False, n_vocab: int = N_VOCAB) -> tuple[Weight, ...]:
    """Of no layer; `tied`: the embedding is the output as well."""
    output = () if tied else (Weight("output.weight", "output", (embd, n_vocab)),)
    return (
        Weight("token_embd.weight", "embedding", (embd, n_vocab)),
        Weight("output_norm.weight", "norm", (embd,)),
        *output,
    )


def _norms(embd: int, *names: str, bias: bool = False) -> tuple[Weight, ...]:
    return tuple(Weight(f"{name}.{kind}", "norm", (embd,)) for name in names for kind in ("weight", "bias")[: 1 + bias])


def _attention(embd: int, q: int, kv: int, bias: bool = False, output_bias: bool = False) -> tuple[Weight, ...]:
    """The four matrices; `bias` of Q, K and V."""
    inputs = (("attn_q", "attention_q", q), ("attn_k", "attention_k", kv), ("attn_v", "attention_v", kv))
    return (
        *(Weight(f"{name}.weight", component, (embd, n)) for name, component, n in inputs),
        *(Weight(f"{name}.bias", component, (n,)) for name, component, n in inputs if bias),
        Weight("attn_output.weight", "attention_output", (q, embd)),
        *((Weight("attn_output.bias", "attention_output", (embd,)),) if output_bias else ()),
    )


def _feed_forward(embd: int, ff: int, suffix: str = "") -> tuple[Weight, ...]:
    return (
        Weight(f"ffn_gate{suffix}.weight", "ffn_gate", (embd, ff)),
        Weight(f"ffn_up{suffix}.weight", "ffn_up", (embd, ff)),
        Weight(f"ffn_down{suffix}.weight", "ffn_down", (ff, embd)),
    )


def _experts(embd: int, ff: int, n: int, bias: bool = False) -> tuple[Weight, ...]:
    stacks = (
        ("ffn_gate_exps", "expert_gate", embd, ff),
        ("ffn_up_exps", "expert_up", embd, ff),
        ("ffn_down_exps", "expert_down", ff, embd),
    )
    return (
        Weight("ffn_gate_inp.weight", "router", (embd, n), plain=True),
        *(Weight(f"{name}.weight", component, (rows, to, n)) for name, component, rows, to in stacks),
        *((Weight("ffn_gate_inp.bias", "router", (n,)),) if bias else ()),
        *(Weight(f"{name}.bias", component, (to, n), plain=True) for name, component, _, to in stacks if bias),
    )


def _attending(embd: int, ff: int, heads: int = 4, kv_heads: int = 2, **more: Value) -> dict[str, Value]:
    """Metadata of a model that attends; keys of `more` with `__` for `.`."""
    return {
        "embedding_length": embd,
        "feed_forward_length": ff,
        "attention.head_count": heads,
        "attention.head_count_kv": kv_heads,
        _EPSILON: 1e-5,
        **{key.replace("__", "."): value for key, value in more.items()},
    }


LLAMA = Architecture(
    "llama",
    _attending(256, 512, rope__dimension_count=64),
    (*_embeddings(256), Weight("rope_freqs.weight", "attention", (32,))),
    ((*_norms(256, "attn_norm", "ffn_norm"), *_attention(256, 256, 128), *_feed_forward(256, 512)),) * 2,
)

QWEN2 = Architecture(
    "qwen2",
    _attending(64, 128),
    _embeddings(64),
    ((*_norms(64, "attn_norm", "ffn_norm"), *_attention(64, 64, 32, bias=True), *_feed_forward(64, 128)),) * 2,
)

_QWEN3 = (*_norms(64, "attn_norm", "ffn_norm"), *_norms(32, "attn_q_norm", "attn_k_norm"), *_attention(64, 128, 64))
_WIDE_HEADS: dict[str, Value] = {"attention.key_length": 32, "attention.value_length": 32}

QWEN3 = Architecture(
    "qwen3",
    {**_attending(64, 128), **_WIDE_HEADS},
    _embeddings(64, tied=True),
    ((*_QWEN3, *_feed_forward(64, 128)),) * 2,
)

QWEN3_MOE = Architecture(
    "qwen3moe",
    {**_attending(64, 128, expert_count=8, expert_used_count=2, expert_feed_forward_length=96), **_WIDE_HEADS},
    _embeddings(64),
    ((*_QWEN3, *_experts(64, 96, 8)),) * 2,
)

GEMMA3 = Architecture(
    "gemma3",
    {**_attending(64, 128, attention__sliding_window=8, attention__sliding_window_pattern=2), **_WIDE_HEADS},
    _embeddings(64, tied=True),
    ((*_QWEN3, *_norms(64, "post_attention_norm", "post_ffw_norm"), *_feed_forward(64, 128)),) * 3,
)

PHI3 = Architecture(
    "phi3",
    _attending(64, 128, rope__dimension_count=16, rope__scaling__original_context_length=128),
    (
        *_embeddings(64),
        Weight("rope_factors_long.weight", "attention", (8,)),
        Weight("rope_factors_short.weight", "attention", (8,)),
    ),
    (
        (
            *_norms(64, "attn_norm", "ffn_norm"),
            Weight("attn_qkv.weight", "attention", (64, 128)),
            Weight("attn_output.weight", "attention_output", (64, 64)),
            Weight("ffn_up.weight", "ffn_up", (64, 256)),  # gate and up in one
            Weight("ffn_down.weight", "ffn_down", (128, 64)),
        ),
    )
    * 2,
    unread=frozenset({"rope_factors_short.weight"}),
)

_GLM = (*_norms(64, "attn_norm", "post_attention_norm"), *_attention(64, 64, 32, bias=True))
_GLM_EXPERTS = (*_experts(64, 96, 4), Weight("exp_probs_b.bias", "router", (4,)), *_feed_forward(64, 96, "_shexp"))
_NEXT_TOKEN = (
    Weight("nextn.eh_proj.weight", "other", (128, 64)),
    Weight("nextn.embed_tokens.weight", "embedding", (64, N_VOCAB)),
    Weight("nextn.shared_head_head.weight", "output", (64, N_VOCAB)),
    *_norms(64, "nextn.enorm", "nextn.hnorm", "nextn.shared_head_norm"),
)

GLM4_MOE = Architecture(
    "glm4moe",
    {
        **_attending(64, 128, expert_count=4, expert_used_count=2, expert_shared_count=1, nextn_predict_layers=1),
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
    *_norms(64, "attn_norm", "ffn_norm", "attn_kv_a_norm"),
    *_norms(32, "attn_q_a_norm"),
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
        **_attending(64, 128, kv_heads=1, expert_count=4, expert_used_count=2, expert_shared_count=1),
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


def gpt_oss(
    *, n_layers: int, embd: int, heads: int, kv_heads: int, head: int, ff: int, n_experts: int, n_used: int,
    window: int, n_vocab: int = N_VOCAB, context: int = CONTEXT,
) -> Architecture:  # fmt: skip
    """The architecture with attention sinks, a sliding window and experts alone; `head` is the length of a head."""
    layer = (
        *_norms(embd, "attn_norm", "post_attention_norm"),
        *_attention(embd, heads * head, kv_heads * head, bias=True, output_bias=True),
        Weight("attn_sinks.weight", "attention", (heads,)),
        *_experts(embd, ff, n_experts, bias=True),
    )
    return Architecture(
        "gpt-oss",
        {
            **_attending(embd, ff, heads, kv_heads, expert_count=n_experts, expert_used_count=n_used),
            "attention.sliding_window": window,
            "attention.key_length": head,
            "attention.value_length": head,
            "expert_feed_forward_length": ff,
        },
        _embeddings(embd, n_vocab=n_vocab),
        (layer,) * n_layers,
        n_vocab=n_vocab,
        context=context,
    )


GPT_OSS = gpt_oss(n_layers=4, embd=64, heads=4, kv_heads=2, head=32, ff=96, n_experts=8, n_used=2, window=8)
GPT_OSS_TYPES = {"expert_gate": "MXFP4", "expert_up": "MXFP4", "expert_down": "MXFP4"}  # else Q8_0


def _state_space(*parts: tuple[str, tuple[int, ...], bool]) -> tuple[Weight, ...]:
    return tuple(Weight(name, "recurrent", shape, plain) for name, shape, plain in parts)


MAMBA = Architecture(
    "mamba",
    {
        "embedding_length": 64,
        "feed_forward_length": 0,
        "attention.head_count": 0,
        _EPSILON: 1e-5,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 128,
        "ssm.state_size": 16,
        "ssm.time_step_rank": 4,
    },
    _embeddings(64),
    (
        (
            *_norms(64, "attn_norm"),
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
    *_norms(64, "attn_norm"),
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
_SHARED_AND_EXPERTS = (*_norms(64, "ffn_norm"), *_experts(64, 96, 4), *_feed_forward(64, 96, "_shexp"))

GRANITE_HYBRID = Architecture(
    "granitehybrid",
    {
        **_attending(64, 96, expert_count=4, expert_used_count=2, expert_shared_feed_forward_length=96),
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
        (*_norms(64, "attn_norm"), *_attention(64, 64, 32), *_SHARED_AND_EXPERTS),
        (*_MAMBA2, *_SHARED_AND_EXPERTS),
    ),
)

_QWEN_EXPERTS = (
    *_norms(64, "post_attention_norm"),
    *_experts(64, 96, 4),
    *_feed_forward(64, 96, "_shexp"),
    Weight("ffn_gate_inp_shexp.weight", "router", (64,)),
)

QWEN3_NEXT = Architecture(
    "qwen3next",
    {
        **_attending(64, 96, expert_count=4, expert_used_count=2, expert_shared_feed_forward_length=96),
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
            *_norms(64, "attn_norm"),
            Weight("attn_qkv.weight", "attention", (64, 256)),
            Weight("attn_gate.weight", "attention", (64, 128)),
            *_state_space(
                ("ssm_conv1d.weight", (4, 256), True),
                ("ssm_dt.bias", (4,), True),
                ("ssm_a", (4,), True),
                ("ssm_ba.weight", (64, 8), False),
                ("ssm_out.weight", (128, 64), False),
            ),
            *_norms(32, "ssm_norm"),
            *_QWEN_EXPERTS,
        ),
        (
            *_norms(64, "attn_norm"),
            *_norms(32, "attn_q_norm", "attn_k_norm"),
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
        *_norms(128, "token_embd_norm", bias=True),
    ),
    (
        (
            *_norms(128, "attn_norm", "attn_norm_2", "time_mix_ln", bias=True),
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

BERT = Architecture(
    "bert",
    {
        "embedding_length": 64,
        "feed_forward_length": 128,
        "attention.head_count": 4,
        "attention.layer_norm_epsilon": 1e-5,
        "attention.causal": False,
        "pooling_type": 1,
    },
    (
        Weight("token_embd.weight", "embedding", (64, N_VOCAB)),
        Weight("token_types.weight", "embedding", (64, 2), plain=True),
        Weight("position_embd.weight", "embedding", (64, CONTEXT), plain=True),
        *_norms(64, "token_embd_norm", bias=True),
    ),
    (
        (
            *_attention(64, 64, 64, bias=True, output_bias=True),
            *_norms(64, "attn_output_norm", "layer_output_norm", bias=True),
            Weight("ffn_up.weight", "ffn_up", (64, 128)),
            Weight("ffn_up.bias", "ffn_up", (128,)),
            Weight("ffn_down.weight", "ffn_down", (128, 64)),
            Weight("ffn_down.bias", "ffn_down", (64,)),
        ),
    )
    * 2,
)
