"""Demo models: GGUF files with random weights that llama.cpp runs; nothing is downloaded.

Their speed, op sequence and memory access are those of a trained model of that shape. The
text that they write means nothing, and their metadata says so (`tracegen.random_weights`).

A bias makes tokens unlikely that print badly (bytes, fragments, control): the first 32
features of every embedding are equal, no layer adds to them, and the output rows of such
tokens are negative there.
"""

import hashlib
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from tracegen.measure.demo.large_files import Progress
from tracegen.measure.demo.metadata import add_origin, add_tokenizer, refuse_seed
from tracegen.measure.demo.vocabulary import Token, vocabulary
from tracegen.measure.demo.weights import Plan, n_bytes, random_weights
from tracegen.measure.demo.whole_files import split_paths, whole_files


@dataclass(frozen=True)
class Shape:
    """The shape of a demo model; sizes in elements."""

    n_layers: int = 4
    n_embd: int = 256
    n_ff: int = 512
    n_heads: int = 4
    n_kv_heads: int = 2
    n_experts: int = 0
    n_experts_used: int = 0
    n_vocab: int = 768
    context: int = 2048
    dtype: str = "F16"


KINDS: dict[str, Shape] = {
    "demo": Shape(),
    "moe": Shape(n_experts=8, n_experts_used=2),
    "tinyllama": Shape(n_layers=22, n_embd=2048, n_ff=5632, n_heads=32, n_kv_heads=4, n_vocab=32000, dtype="Q4_K"),
}


def write_demo_model(
    kind: str,
    path: Path,
    *,
    seed: int = 1,
    progress: Progress | None = None,
    split: bool = False,
    **overrides: Any,
) -> tuple[Path, ...]:
    """Write a model of `kind` with random weights and return its files; llama.cpp loads the first.

    `overrides` are fields of Shape; not every shape can be run. With `split` there are two files,
    NAME-00001-of-00002.gguf and NAME-00002-of-00002.gguf. The same arguments give the same bytes. The files are
    complete or absent. Raises SettingsError for a wrong seed, EnvironmentFailure when the disk refuses to write.
    """
    refuse_seed(kind, seed)
    shape = replace(KINDS[kind], **overrides)
    with whole_files(path) as beside:
        _write(kind, beside, shape, _plans(kind, shape), seed, split, progress)
    return split_paths(path) if split else (path,)


def recipe_hash() -> str:
    """Hash of the modules of this room; it changes whenever the bytes of a model may."""
    digest = hashlib.sha256()
    for module in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(module.read_bytes())
    return digest.hexdigest()[:12]


def _plans(kind: str, shape: Shape) -> list[Plan]:
    """The tensors in the order of the file; `tinyllama` has the Q4_K_M mix of types."""
    embd, ff, dtype = shape.n_embd, shape.n_ff, shape.dtype
    kv = embd // shape.n_heads * shape.n_kv_heads
    better = "Q6_K" if dtype == "Q4_K" else dtype
    into, residual = embd**-0.5, (2 * shape.n_layers) ** -0.5
    plans = [
        Plan("output.weight", (shape.n_vocab, embd), better, 2.5 * into, biased=True),
        Plan("token_embd.weight", (shape.n_vocab, embd), dtype, 1.0, constant=True),
        Plan("output_norm.weight", (embd,), "F32"),
    ]
    for layer in range(shape.n_layers):
        # llama.cpp's choice for Q4_K_M: the first eighth, the last eighth, and every third between
        eighth = shape.n_layers // 8
        more = layer < eighth or layer >= 7 * shape.n_layers // 8 or (layer - eighth) % 3 == 2
        mixed = better if more and kind == "tinyllama" else dtype
        stack = (shape.n_experts,) if shape.n_experts else ()
        part = "_exps" if shape.n_experts else ""
        block = [
            Plan("attn_norm", (embd,), "F32"),
            Plan("attn_q", (embd, embd), dtype, 1.5 * into),
            Plan("attn_k", (kv, embd), dtype, 1.5 * into),
            Plan("attn_v", (kv, embd), mixed, into),
            Plan("attn_output", (embd, embd), dtype, 2 * into * residual, silent=True),
            Plan("ffn_norm", (embd,), "F32"),
            Plan(f"ffn_gate{part}", (*stack, ff, embd), dtype, into),
            Plan(f"ffn_up{part}", (*stack, ff, embd), dtype, into),
            Plan(f"ffn_down{part}", (*stack, embd, ff), mixed, 2 * ff**-0.5 * residual, silent=True),
        ]
        if shape.n_experts:
            block.append(Plan("ffn_gate_inp", (shape.n_experts, embd), "F32", 2 * into))
        plans += [replace(plan, name=f"blk.{layer}.{plan.name}.weight") for plan in block]
    return plans


def _write(
    kind: str, path: Path, shape: Shape, plans: list[Plan], seed: int, split: bool, progress: Progress | None
) -> None:
    limit = -(-len(plans) // 2) if split else 0
    writer = gguf.GGUFWriter(path, "llama", split_max_tensors=limit)
    words = vocabulary(shape.n_vocab)
    _add_metadata(writer, kind, shape, words, seed)
    types = {plan.name: gguf.GGMLQuantizationType[plan.dtype] for plan in plans}
    for plan in plans:
        writer.add_tensor_info(plan.name, plan.shape, np.dtype(np.float32), n_bytes(plan), raw_dtype=types[plan.name])
    unlikely = np.array([not readable for _, _, readable in words])
    total, done = sum(map(n_bytes, plans)), 0
    with closing(writer):
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for i, plan in enumerate(plans):
            writer.write_tensor_data(random_weights(plan, np.random.PCG64([seed, i]), unlikely))
            done += n_bytes(plan)
            if progress:
                progress(done, total)


def _add_metadata(writer: gguf.GGUFWriter, kind: str, shape: Shape, words: list[Token], seed: int) -> None:
    add_origin(writer, kind, seed)
    writer.add_block_count(shape.n_layers)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.n_embd)
    writer.add_feed_forward_length(shape.n_ff)
    writer.add_head_count(shape.n_heads)
    writer.add_head_count_kv(shape.n_kv_heads)
    writer.add_rope_dimension_count(shape.n_embd // shape.n_heads)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(shape.n_vocab)
    if shape.n_experts:
        writer.add_expert_count(shape.n_experts)
        writer.add_expert_used_count(shape.n_experts_used)
    add_tokenizer(writer, words)
