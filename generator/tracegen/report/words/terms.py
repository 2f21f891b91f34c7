"""What the words of pages and tables mean; the reading guide of a report and the reference page print them."""

KINDS = {
    "load": "A model is loaded. Recorded.",
    "warmup": "llama.cpp runs the graph once before the prompt. Recorded.",
    "prompt": "The prompt is read: a call of one sequence that asks for no logits but those of its last row.",
    "generate": "A token is generated: one row, not at the start of a sequence, after logits of its context were read.",
    "encode": "An encoder runs (llama_encode). Recorded.",
    "draft": "Tokens are proposed: every pass of a second context while the first one verifies.",
    "verify": "Proposed tokens are checked: a few rows at once, all logits asked for, while another context proposes.",
    "mixed": "Anything else: several sequences, rows whose logits are all asked for, rows whose logits nobody reads.",
}
STATES = {
    "executed": "It ran; its times are measured on every thread.",
    "fused": "The kernel of another node computed it.",
    "empty": "It ran and had no elements.",
    "noop": "It only views, reshapes or permutes: nothing is computed.",
    "off": "Its flag says that it is not computed.",
}
MEMORY = {
    "disk": "The address lies in the mapped model file. This does not say whether the page was in memory.",
    "copied": "Bytes of the file that llama.cpp copied at load, repacked or unchanged; reading them reads no disk.",
    "buffer": "KV cache, intermediate results, inputs and outputs.",
}
GROUPS = {
    "embedding": "The table that turns a token’s id into numbers; a token reads one row of it.",
    "attention": "The part of a layer that looks back at earlier tokens: its four matrices and the attention itself.",
    "KV cache": "Keys and values of earlier tokens: written once per token, read for every later token.",
    "router": "The small matrix of a mixture-of-experts layer that chooses the experts of a token.",
    "FFN": "The feed-forward part of a dense layer: three matrices that every token reads whole.",
    "experts": "The feed-forward parts of a mixture-of-experts layer, of which a token touches a few.",
    "norm": "Scaling between the parts of a layer: little data, little work.",
    "output": "The matrix that turns the last layer’s numbers into a score for each token of the vocabulary.",
    "other": "Anything else: sums, copies, positions, recurrent state.",
}
CHECKS = {
    "passed": "The finding lies within the limit.",
    "warning": "The finding lies outside the limit, but the figures still hold: they are shown with the warning.",
    "failed": "The finding lies outside the limit: the reason replaces the figures that depend on the check.",
    "not checked": "The trace does not hold what the check compares.",
}
VERDICTS = {
    "complete": "No check failed or warned.",
    "complete with warnings": "No check failed; at least one warned.",
    "not usable": "At least one check failed.",
}


def memory_name(kind: object) -> str:
    """The name of a kind of memory on pages: `disk` of the tables is called `mapped`."""
    return {"disk": "mapped"}.get(str(kind), str(kind))
