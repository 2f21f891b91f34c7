"""The components of a model, and the groups of them that pages show."""

from collections.abc import Mapping

# in the order of the codes that columns have for them
GROUP_OF: Mapping[str, str] = {
    "embedding": "embedding",
    "attention_q": "attention",
    "attention_k": "attention",
    "attention_v": "attention",
    "attention_output": "attention",
    "attention": "attention",
    "kv_cache": "KV cache",
    "router": "router",
    "ffn_gate": "FFN",
    "ffn_up": "FFN",
    "ffn_down": "FFN",
    "expert_gate": "experts",
    "expert_up": "experts",
    "expert_down": "experts",
    "norm": "norm",
    "output": "output",
    "recurrent": "other",
    "other": "other",
}
