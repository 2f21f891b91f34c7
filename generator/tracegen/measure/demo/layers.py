"""Tensors and metadata that many architectures share; `embd` is the embedding length, `ff` the feed-forward length."""

from tracegen.measure.demo.architecture import Value, Weight

EPSILON = "attention.layer_norm_rms_epsilon"


def embeddings(embd: int, n_vocab: int, tied: bool = False) -> tuple[Weight, ...]:
    """The tensors that belong to no layer; with `tied` the embedding is also the output."""
    output = () if tied else (Weight("output.weight", "output", (embd, n_vocab)),)
    return (
        Weight("token_embd.weight", "embedding", (embd, n_vocab)),
        Weight("output_norm.weight", "norm", (embd,)),
        *output,
    )


def norms(embd: int, *names: str, bias: bool = False) -> tuple[Weight, ...]:
    """The norms of these names."""
    return tuple(Weight(f"{name}.{kind}", "norm", (embd,)) for name in names for kind in ("weight", "bias")[: 1 + bias])


def attention(embd: int, q: int, kv: int, bias: bool = False, output_bias: bool = False) -> tuple[Weight, ...]:
    """The four matrices of attention; `q` and `kv` are the rows of Q and of K and V, `bias` is that of Q, K and V."""
    inputs = (("attn_q", "attention_q", q), ("attn_k", "attention_k", kv), ("attn_v", "attention_v", kv))
    return (
        *(Weight(f"{name}.weight", component, (embd, n)) for name, component, n in inputs),
        *(Weight(f"{name}.bias", component, (n,)) for name, component, n in inputs if bias),
        Weight("attn_output.weight", "attention_output", (q, embd)),
        *((Weight("attn_output.bias", "attention_output", (embd,)),) if output_bias else ()),
    )


def experts(embd: int, ff: int, n: int, bias: bool = False) -> tuple[Weight, ...]:
    """The router and the stacked matrices of `n` experts."""
    stacks = (
        ("ffn_gate_exps", "expert_gate", embd, ff),
        ("ffn_up_exps", "expert_up", embd, ff),
        ("ffn_down_exps", "expert_down", ff, embd),
    )
    return (
        Weight("ffn_gate_inp.weight", "router", (embd, n), plain=True),
        *(Weight(f"{name}.weight", component, (columns, rows, n)) for name, component, columns, rows in stacks),
        *((Weight("ffn_gate_inp.bias", "router", (n,)),) if bias else ()),
        *(Weight(f"{name}.bias", component, (rows, n), plain=True) for name, component, _, rows in stacks if bias),
    )


def attending(embd: int, ff: int, heads: int = 4, kv_heads: int = 2, **more: Value) -> dict[str, Value]:
    """The metadata of a model with attention; `more` are further keys, with `__` for `.`."""
    return {
        "embedding_length": embd,
        "feed_forward_length": ff,
        "attention.head_count": heads,
        "attention.head_count_kv": kv_heads,
        EPSILON: 1e-5,
        **{key.replace("__", "."): value for key, value in more.items()},
    }
