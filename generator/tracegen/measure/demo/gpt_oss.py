"""Mixtures of experts of the shape of gpt-oss-20b in many sizes, to trace a model that is larger than the memory.

Experts, experts used and heads are those of gpt-oss-20b, and so are the layers unless fewer are asked for. The width
(embedding and feed-forward length) and the vocabulary are in the proportion of gpt-oss-20b.
"""

from functools import cache
from pathlib import Path

from tracegen.contract.errors import SettingsError
from tracegen.measure.demo.architecture import Architecture, Weight, size_of, types_of
from tracegen.measure.demo.large_files import Progress, write_random_model
from tracegen.measure.demo.layers import attending, attention, embeddings, experts, norms
from tracegen.measure.demo.metadata import refuse_seed
from tracegen.measure.demo.vocabulary import vocabulary
from tracegen.measure.demo.whole_files import GIB, refuse_small_disk, split_paths, whole_files

KIND = "gpt-oss"
LEAST_GIB, MOST_GIB, DEFAULT_GIB = 1, 12, 4
N_LAYERS = 24  # of gpt-oss-20b, and at most
GPT_OSS_TYPES = {"expert_gate": "MXFP4", "expert_up": "MXFP4", "expert_down": "MXFP4"}  # by component
DTYPE = "Q8_0"  # of the other matrices

_WIDTH, _N_VOCAB = 2880, 201_088  # of gpt-oss-20b
_BLOCK = 32  # elements of a block of MXFP4 and of Q8_0: a width is a multiple of it
_TOKENS = 64  # a vocabulary is a multiple of it
_HEADER_OF_A_TOKEN = 64  # bytes at most: text, length, score and type
_HEADER = 1 << 20  # bytes at most, without tokens


def gpt_oss(
    *,
    n_layers: int,
    embd: int,
    heads: int,
    kv_heads: int,
    head: int,
    ff: int,
    n_experts: int,
    n_used: int,
    window: int,
    n_vocab: int,
    context: int,
) -> Architecture:
    """The architecture with attention sinks, a sliding window and no dense layers; `head` is the length of a head."""
    layer = (
        *norms(embd, "attn_norm", "post_attention_norm"),
        *attention(embd, heads * head, kv_heads * head, bias=True, output_bias=True),
        Weight("attn_sinks.weight", "attention", (heads,)),
        *experts(embd, ff, n_experts, bias=True),
    )
    return Architecture(
        "gpt-oss",
        {
            **attending(embd, ff, heads, kv_heads, expert_count=n_experts, expert_used_count=n_used),
            "attention.sliding_window": window,
            "attention.key_length": head,
            "attention.value_length": head,
            "expert_feed_forward_length": ff,
        },
        embeddings(embd, n_vocab),
        (layer,) * n_layers,
        context=context,
    )


def of_width(width: int, n_layers: int = N_LAYERS) -> Architecture:
    """gpt-oss-20b with another width, with a vocabulary in proportion, and with as many layers."""
    return gpt_oss(
        n_layers=n_layers,
        embd=width,
        heads=64,
        kv_heads=8,
        head=64,
        ff=width,
        n_experts=32,
        n_used=4,
        window=128,
        n_vocab=_N_VOCAB * width // _WIDTH // _TOKENS * _TOKENS,
        context=131_072,
    )


def of_size(size_bytes: float, n_layers: int = N_LAYERS) -> Architecture:
    """gpt-oss-20b with the width for which the size of its tensors is nearest to `size_bytes`.

    From 1 to 12 GiB the size is within 4 % of it: a step in width, of 32, changes the size by 8 % at most.
    """
    width = _BLOCK
    while _bytes_of_width(width + _BLOCK, n_layers) <= size_bytes:
        width += _BLOCK
    below, above = (_bytes_of_width(size, n_layers) for size in (width, width + _BLOCK))
    return of_width(width if size_bytes - below <= above - size_bytes else width + _BLOCK, n_layers)


def of_gib(size_gib: float, n_layers: int = N_LAYERS) -> Architecture:
    """The same for a size in GiB. Raises SettingsError for a size or depth that `tracegen model` does not offer."""
    if not LEAST_GIB <= size_gib <= MOST_GIB:
        raise SettingsError(
            f"model {KIND}: {size_gib:g} GiB is not a size for it; choose from {LEAST_GIB} to {MOST_GIB}"
        )
    if not 1 <= n_layers <= N_LAYERS:
        raise SettingsError(f"model {KIND}: {n_layers} layers are not offered; choose from 1 to {N_LAYERS}")
    return of_size(size_gib * GIB, n_layers)


def write_gpt_oss(
    path: Path,
    architecture: Architecture,
    *,
    seed: int = 1,
    progress: Progress | None = None,
    split: bool = False,
) -> tuple[Path, ...]:
    """Write a model with random weights and return its files; llama.cpp loads the first.

    With `split` there are two files, NAME-00001-of-00002.gguf and NAME-00002-of-00002.gguf. The same arguments give
    the same bytes. The files are complete or absent. Raises SettingsError for a wrong seed, EnvironmentFailure when the
    disk has no room for the model or refuses to write.
    """
    refuse_seed(KIND, seed)
    refuse_small_disk(path.parent, file_bytes(architecture), "make room, or write a smaller model")
    types = types_of(architecture, DTYPE, GPT_OSS_TYPES)
    tokens = vocabulary(architecture.n_vocab)
    with whole_files(path) as beside:
        write_random_model(architecture, beside, types, tokens, kind=KIND, seed=seed, split=split, progress=progress)
    return split_paths(path) if split else (path,)


def file_bytes(architecture: Architecture) -> int:
    """Bytes that the files of a model need, at most."""
    return tensor_bytes(architecture) + architecture.n_vocab * _HEADER_OF_A_TOKEN + _HEADER


def tensor_bytes(architecture: Architecture) -> int:
    """Bytes of all tensors of a model."""
    return size_of(architecture, DTYPE, GPT_OSS_TYPES)


@cache
def _bytes_of_width(width: int, n_layers: int) -> int:
    return tensor_bytes(of_width(width, n_layers))
