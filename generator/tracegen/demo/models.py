"""Demo models: GGUF files with random weights that llama.cpp runs; nothing is downloaded.

Their speed, op sequence and memory access are those of a trained model of that shape. The
text that they write means nothing, and their metadata says so (`tracegen.random_weights`).

A bias makes tokens unlikely that print badly (bytes, fragments, control): the first 32
features of every embedding are equal, no layer adds to them, and the output rows of such
tokens are negative there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, fields, replace
from itertools import chain, product
from pathlib import Path

import gguf
import numpy as np

from tracegen.demo import weights as demo_weights
from tracegen.demo.weights import BIAS, Plan, n_bytes, random_weights
from tracegen.errors import EnvironmentFailure, SettingsError
from tracegen.model import DEMO_DTYPES

Progress = Callable[[int, int], None]  # bytes done, bytes in all


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
    **shape: object,
) -> tuple[Path, ...]:
    """Write a model of `kind` with random weights and return its files; llama.cpp loads the first.

    `shape` overrides fields of Shape. With `split` there are two files, NAME-00001-of-00002.gguf
    and NAME-00002-of-00002.gguf. The same arguments give the same bytes. The files are complete or absent.
    Raises SettingsError for wrong arguments, EnvironmentFailure when the disk refuses to write.
    """
    checked = _shape(kind, shape)
    plans = _plans(kind, checked)
    if not 0 <= seed < 1 << 64:
        raise SettingsError(f"model {kind}: seed {seed} is not a whole number from 0 to 2^64 - 1")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent))
        try:
            _write(kind, beside / path.name, checked, plans, seed, split, progress)
            written = sorted(beside.iterdir())
            for part in reversed(written):  # the first file last: when it exists, the model is complete
                _flush(part)
                part.replace(path.parent / part.name)
            _flush(path.parent)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    except OSError as error:
        raise EnvironmentFailure(f"{path}: could not be written: {error.strerror or error}") from error
    return tuple(path.parent / part.name for part in written)


def recipe_hash() -> str:
    """Hash of the modules that write demo models; it changes whenever the bytes of a model may."""
    digest = hashlib.sha256()
    for module in (__file__, demo_weights.__file__):
        digest.update(Path(module).read_bytes())
    return digest.hexdigest()[:12]


def split_paths(path: Path) -> tuple[Path, Path]:
    """The two files that a split model NAME.gguf becomes, as llama.cpp names them."""
    return (
        path.with_name(f"{path.stem}-00001-of-00002.gguf"),
        path.with_name(f"{path.stem}-00002-of-00002.gguf"),
    )


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# Shape


def _shape(kind: str, overrides: dict[str, object]) -> Shape:
    if kind not in KINDS:
        raise SettingsError(f"model kind {kind!r}: not known; choose {', '.join(KINDS)}")
    known = {field.name: field for field in fields(Shape)}
    for name, value in overrides.items():
        if name not in known:
            raise SettingsError(f"model {kind}: {name!r} is no property of a shape; choose {', '.join(known)}")
        wanted = type(getattr(Shape(), name))
        if type(value) is not wanted:
            raise SettingsError(f"model {kind}: {name} is {value!r}, and must be of type {wanted.__name__}")
    changed = replace(KINDS[kind], **overrides)  # type: ignore[arg-type]
    problem = _problem(changed)
    if problem:
        raise SettingsError(f"model {kind}: {problem}")
    return changed


def _problem(shape: Shape) -> str:
    """Why llama.cpp cannot run this shape; empty if it can."""
    if shape.dtype not in DEMO_DTYPES:
        return f"dtype {shape.dtype!r} cannot be written; choose {', '.join(DEMO_DTYPES)}"
    block = 256 if shape.dtype == "Q4_K" else 32
    least = len(_readable_and_not()[1]) + 3 + 256 + 1
    counts = (shape.n_layers, shape.n_embd, shape.n_ff, shape.n_heads, shape.n_kv_heads, shape.context)
    if min(counts) < 1:
        return "layers, sizes, heads and context must be at least 1"
    if shape.n_embd % block or shape.n_ff % block or shape.n_embd < 2 * BIAS:
        return f"n_embd {shape.n_embd} and n_ff {shape.n_ff} must be multiples of {block}, n_embd over {BIAS}"
    if shape.n_embd % (2 * shape.n_heads) or shape.n_heads % shape.n_kv_heads:
        return f"{shape.n_heads} heads must divide n_embd evenly, and {shape.n_kv_heads} K/V heads the heads"
    if shape.n_vocab < least:
        return f"n_vocab {shape.n_vocab} is too small; {least} is the least"
    used, experts = shape.n_experts_used, shape.n_experts
    if not (0 < used <= experts or used == experts == 0):
        return f"{used} of {experts} experts used is impossible"
    return ""


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


# File


def _write(
    kind: str, path: Path, shape: Shape, plans: list[Plan], seed: int, split: bool, progress: Progress | None
) -> None:
    limit = -(-len(plans) // 2) if split else 0
    writer = gguf.GGUFWriter(path, "llama", split_max_tensors=limit)
    words = _vocabulary(shape.n_vocab)
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


def _add_metadata(
    writer: gguf.GGUFWriter, kind: str, shape: Shape, words: list[tuple[bytes, int, bool]], seed: int
) -> None:
    writer.add_name(f"tracegen {kind} (random weights)")
    writer.add_description("Random weights, written by tracegen to measure memory access: its text means nothing.")
    writer.add_bool("tracegen.random_weights", True)
    writer.add_string("tracegen.kind", kind)
    writer.add_uint64("tracegen.seed", seed)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
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
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _, _ in words])
    writer.add_token_scores([-float(i) for i in range(len(words))])
    writer.add_token_types([kind for _, kind, _ in words])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)


# Vocabulary

_WORD_LIST = """
    the of and a to in is it that for on as with by at from this be are was or an which not have has one two
    page byte memory disk cache layer token model weight tensor file read write map fault row head key value
    expert router gate norm span pass graph node edge buffer thread core clock time wait work trace run load
    first last next same other each every all some more less few many long short near far old new cold warm
    small large slow fast high low left right early late here there then when where how why what who
    sees finds keeps moves holds reads opens takes gives turns asks tells shows counts follows begins ends
    water stone river tree light wind night day road house door hand eye book line word name number
"""
_WORDS = tuple(dict.fromkeys(_WORD_LIST.split()))
_PRINTABLE = [chr(code) for code in range(0x21, 0x7F)]
_SPACE = "▁"  # SentencePiece writes a space so


def _readable_and_not() -> tuple[list[str], list[str]]:
    """Complete words, and the characters and word beginnings from which the tokenizer builds them."""
    words = dict.fromkeys(_SPACE + word for word in _WORDS)
    beginnings = [word[:n] for word in words for n in range(2, len(word))]
    fragments = dict.fromkeys([_SPACE, *_PRINTABLE, *beginnings])
    return list(words), [fragment for fragment in fragments if fragment not in words]


def _vocabulary(size: int) -> list[tuple[bytes, int, bool]]:
    """(text, type, whether it is readable) of every token; made-up words fill the vocabulary up to `size`."""
    words, fragments = _readable_and_not()
    normal, byte = int(gguf.TokenType.NORMAL), int(gguf.TokenType.BYTE)
    control, unknown = int(gguf.TokenType.CONTROL), int(gguf.TokenType.UNKNOWN)
    tokens = [(b"<unk>", unknown, False), (b"<s>", control, False), (b"</s>", control, False)]
    tokens += [(f"<0x{value:02X}>".encode(), byte, False) for value in range(256)]
    tokens += [(fragment.encode(), normal, False) for fragment in fragments]
    taken = {text for text, _, _ in tokens}
    for word in chain(words, _made_up_words()):
        if len(tokens) == size:
            break
        if word.encode() not in taken:
            taken.add(word.encode())
            tokens.append((word.encode(), normal, True))
    return tokens


def _made_up_words() -> Iterator[str]:
    consonants, vowels = "bdfgklmnprstvz", "aeiou"
    for n_syllables in (2, 3, 4):
        for letters in product(*(consonants, vowels) * n_syllables):
            yield _SPACE + "".join(letters)
