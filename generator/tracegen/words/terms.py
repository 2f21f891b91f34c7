"""What the words of pages and tables mean: read by the reading guide of each report and by the reference page."""

from __future__ import annotations

KINDS = {
    "load": "A model is loaded. Recorded.",
    "warmup": "llama.cpp runs the graph once before the prompt. Recorded.",
    "prompt": "The prompt is read: a call of one sequence that asks for the logits of its last row at most.",
    "generate": "A token is made: one row, after logits of its context were read, not at the begin of the sequence.",
    "encode": "An encoder runs (llama_encode). Recorded.",
    "draft": "Tokens are proposed: all that a second context does while the first one verifies.",
    "verify": "Proposals are checked: a few rows at once, all logits asked for, while another context proposes.",
    "mixed": "All else: several sequences, rows whose logits are all asked for, rows whose logits nobody reads.",
}
STATES = {
    "executed": "It ran; its times are measured on every thread.",
    "fused": "The kernel of another node computed it.",
    "empty": "It ran and had no elements.",
    "noop": "It only views, reshapes or permutes: nothing is computed.",
    "off": "Its flag says that it is not computed.",
}
MEMORY = {
    "disk": "The address lies in a mapping of the model file. Whether the page was in memory is another question.",
    "copied": "Bytes of the file that llama.cpp copied at load, repacked or as they are; reading them reads no disk.",
    "buffer": "KV cache, intermediate results, inputs and outputs.",
}
GROUPS = {
    "embedding": "The table that turns a token’s id into numbers; a token reads one row of it.",
    "attention": "What a layer does to look back at earlier tokens: its four matrices and the attention itself.",
    "KV cache": "Keys and values of earlier tokens: written once per token, read by every later one.",
    "router": "The small matrix of a mixture-of-experts layer that chooses which experts a token uses.",
    "FFN": "The feed-forward part of a dense layer: three matrices that every token reads whole.",
    "experts": "The feed-forward parts of a mixture-of-experts layer, of which a token uses a few.",
    "norm": "Scaling between the parts of a layer: little data, little work.",
    "output": "The matrix that turns the last layer’s numbers into a score for each word.",
    "other": "All else: sums, copies, positions, recurrent state.",
}
CHECKS = {
    "passed": "What was found lies within the limit.",
    "warning": "It does not, and the figures still hold: they stand beside the warning.",
    "failed": "It does not, and the figures that depend on it are replaced by the reason.",
    "not checked": "The trace does not hold what the check compares.",
}
VERDICTS = {
    "complete": "No check failed or warned.",
    "complete with warnings": "No check failed; at least one warned.",
    "not usable": "At least one check failed.",
}
