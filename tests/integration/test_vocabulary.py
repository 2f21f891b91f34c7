"""The text of tokens against llama.cpp's own: every token of a SentencePiece and of a byte-level vocabulary."""

import json
import random
import subprocess
from pathlib import Path

import gguf
import pytest

from tests.integration.conftest import Oracle
from tracegen.readers.gguf import vocabulary

pytestmark = pytest.mark.llama


def said(oracle: Oracle, model: Path) -> dict[int, bytes]:
    """What llama.cpp says that each token of the vocabulary stands for."""
    command = [str(oracle.program), "--model", str(model), "--pieces", "on"]
    ended = subprocess.run(
        command, capture_output=True, check=False, timeout=120, env={"LD_LIBRARY_PATH": str(oracle.libraries)}
    )
    assert ended.returncode == 0, ended.stderr.decode(errors="replace")[-2000:]
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    return {row["id"]: bytes.fromhex(row["hex"]) for row in rows}


def test_a_sentencepiece_vocabulary(oracle: Oracle, demo: Path) -> None:
    truth = said(oracle, demo)
    assert len(truth) > 500 and b" the" in truth.values() and vocabulary.pieces(demo, range(len(truth) + 5)) == truth


def test_a_byte_level_vocabulary(oracle: Oracle, tmp_path: Path) -> None:
    """All bytes alone, random sequences of them, special tokens, and tokens of users with a space."""
    letters = {byte: letter for letter, byte in vocabulary._BYTES.items()}
    dice = random.Random(7)
    texts = ["".join(letters[byte] for byte in dice.randbytes(dice.randrange(1, 9))) for _ in range(400)]
    tokens = [*(letters[byte] for byte in range(256)), *dict.fromkeys(texts)]
    normal = [(text, gguf.TokenType.NORMAL) for text in dict.fromkeys(tokens)]
    special = [("<|end|>", gguf.TokenType.CONTROL), ("two words", gguf.TokenType.USER_DEFINED)]
    path = tmp_path / "bpe.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([text for text, _ in normal + special])
    writer.add_token_types([int(kind) for _, kind in normal + special])
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(len(normal))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    truth = said(oracle, path)
    assert len(truth) == len(normal) + 2 and truth[0x41] == b"A" and truth[0xE2] == b"\xe2"
    assert vocabulary.pieces(path, range(len(truth))) == truth
