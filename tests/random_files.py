"""Files of tiny models with random weights: models with a vocabulary of characters, adapters, projectors."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import gguf

from tracegen.measure.demo import large_files
from tracegen.measure.demo.architecture import Architecture, Weight, types_of
from tracegen.measure.demo.large_files import write_file
from tracegen.measure.demo.vocabulary import Token


def write_random_model(
    architecture: Architecture, path: Path, dtype: str = "F16", mix: Mapping[str, str] | None = None
) -> Path:
    """Write a model whose matrices are of `dtype`, those of the components in `mix` of another type."""
    types = types_of(architecture, dtype, mix or {})
    large_files.write_random_model(architecture, path, types, characters(architecture.n_vocab), kind="test")
    return path


def characters(size: int) -> list[Token]:
    """A vocabulary of single characters, bytes and numbers: each character of a prompt is a token."""
    kinds = gguf.TokenType
    normal, control = int(kinds.NORMAL), int(kinds.CONTROL)
    words = ["▁", *map(chr, range(0x21, 0x7F))]
    words += [f"▁{number:02d}" for number in range(size - 259 - len(words))]
    return [
        (b"<unk>", int(kinds.UNKNOWN), False),
        (b"<s>", control, False),
        (b"</s>", control, False),
        *((f"<0x{byte:02X}>".encode(), int(kinds.BYTE), False) for byte in range(256)),
        *((word.encode(), normal, True) for word in words),
    ]


def write_lora(architecture: Architecture, path: Path, components: Sequence[str], rank: int = 8) -> Path:
    """Write an adapter for the matrices of these components."""
    writer = gguf.GGUFWriter(path, architecture.name)
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(rank))
    pairs = [
        Weight(f"{weight.name}.lora_{side}", weight.component, shape)
        for weight in architecture.weights
        if weight.component in components and len(weight.shape) == 2
        for side, shape in (("a", (weight.shape[0], rank)), ("b", (rank, weight.shape[1])))
    ]
    write_file(writer, [(pair, "F32") for pair in pairs])
    return path


def write_projector(path: Path) -> Path:
    """Write what is typical of a multimodal projector (mmproj): a vision encoder, and no language model."""
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_type("mmproj")
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", "mlp")
    writer.add_uint32("clip.vision.block_count", 1)
    weights = [Weight("mm.0.weight", "other", (64, 64)), Weight("v.blk.0.attn_q.weight", "attention_q", (64, 64))]
    write_file(writer, [(weight, "F16") for weight in weights])
    return path
