"""Metadata that all models with random weights carry: where they come from, and their tokenizer."""

import gguf

from tracegen.contract.errors import SettingsError
from tracegen.measure.demo.vocabulary import Token


def add_origin(writer: gguf.GGUFWriter, kind: str, seed: int) -> None:
    """Add what says that the weights are random, and from which kind and seed they were made."""
    writer.add_name(f"tracegen {kind} (random weights)")
    writer.add_description("Random weights, written by tracegen to measure memory access: its text means nothing.")
    writer.add_bool("tracegen.random_weights", True)
    writer.add_string("tracegen.kind", kind)
    writer.add_uint64("tracegen.seed", seed)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)


def add_tokenizer(writer: gguf.GGUFWriter, tokens: list[Token]) -> None:
    """Add a SentencePiece tokenizer that prefers earlier tokens; token 0 is unknown, 1 begins and 2 ends a text."""
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _, _ in tokens])
    writer.add_token_scores([-float(i) for i in range(len(tokens))])
    writer.add_token_types([kind for _, kind, _ in tokens])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)


def refuse_seed(kind: str, seed: int) -> None:
    """Raise SettingsError for a seed that PCG64 does not take."""
    if not 0 <= seed < 1 << 64:
        raise SettingsError(f"model {kind}: seed {seed} is not a whole number from 0 to 2^64 - 1")
