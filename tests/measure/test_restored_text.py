"""Prompt and generated text of observed programs come from token ids and the vocabulary, or are listed as missing."""

import struct
from pathlib import Path
from typing import Any, cast

import pandas as pd

from tests.readers import gguf_bytes as made
from tracegen.contract.facts import Conditions, Facts, Settings, Text
from tracegen.contract.held_tokens import held_tokens
from tracegen.contract.model import Run
from tracegen.contract.tables import frame
from tracegen.measure.runs.facts import Captured, text_facts
from tracegen.publishing import privacy
from tracegen.readers.gguf.file import Model
from tracegen.readers.native.trace import NativeTrace

# The euro sign is three tokens of a byte each; <|user|> is a mark of a chat template.
WORDS = {"<s>": 3, "<|user|>": 3, "▁Hello": 1, "▁there": 1, "<0xE2>": 6, "<0x82>": 6, "<0xAC>": 6, "</s>": 3}
BEGIN, USER, HELLO, THERE, E2, _82, AC, END = range(len(WORDS))
Pass = tuple[str, int, list[int | None], int | None]  # kind, position of the first token, tokens, the token it gave
CHAT: list[Pass] = [
    ("warmup", 0, [BEGIN, END], None),
    ("prompt", 0, [BEGIN, USER], None),
    ("prompt", 2, [HELLO], 0),
    ("generate", 3, [THERE], 1),
    ("generate", 4, [E2], 2),
    ("generate", 5, [_82], 3),
    ("generate", 6, [AC], 4),
]
AGAIN: list[Pass] = [("prompt", 7, [USER, HELLO], 5), ("generate", 9, [THERE], 6)]
LAST = "the last generated token, which no recorded pass took in"


def tables_of(
    passes: list[Pass],
    sequences: dict[int, int] | None = None,
    contexts: dict[int, int] | None = None,
    positions: bool = True,
) -> dict[str, pd.DataFrame]:
    """Tables of these passes; `sequences` and `contexts` name those of the passes that are not of number 0."""
    rows = frame(
        "passes",
        [
            dict(
                pass_id=i,
                context=(contexts or {}).get(i, 0),
                kind=kind,
                produced_token=given,
                n_tokens=len(ids),
                begin_ns=i,
            )
            for i, (kind, _, ids, given) in enumerate(passes)
        ],
    )
    tokens = frame(
        "tokens",
        [
            dict(
                pass_id=i,
                row=r,
                token_id=token,
                position=begin + r if positions else None,
                sequence=(sequences or {}).get(i, 0),
            )
            for i, (_, begin, ids, _) in enumerate(passes)
            for r, token in enumerate(ids)
        ],
    )
    return {"passes": rows, "tokens": tokens.assign(generated_token=held_tokens(rows, tokens)["generated_token"])}


def model_in(folder: Path, kind: str = "llama") -> Model:
    """A model file with only a vocabulary."""
    path = folder / f"{kind}.gguf"
    path.write_bytes(
        made.header(
            (
                made.string("tokenizer.ggml.model", kind),
                made.array("tokenizer.ggml.tokens", 8, len(WORDS), b"".join(map(made.text, WORDS))),
                made.array("tokenizer.ggml.token_type", 5, len(WORDS), struct.pack(f"<{len(WORDS)}i", *WORDS.values())),
            )
        )
    )
    return cast("Model", type("Named", (), {"paths": (path,)}))


def text_of(
    models: list[Model], passes: list[Pass], sampled: tuple[int, ...] = (), given: str | None = None, **more: Any
) -> Text:
    """The facts of the text of a run of these passes."""
    captured = Captured(
        settings={"private": False},
        command=("python3",),
        status=0,
        models=models,
        loads={0: 0},
        version="given",
        conditions=Conditions(),
        prompt=given,
        generated=given,
    )
    return text_facts(captured, NativeTrace(tables_of(passes, **more), {"sampled_tokens": list(sampled)}))


def parts_of(text: Text) -> tuple[str | None, str | None, str | None]:
    assert text.restored is (text.prompt is not None or text.generated is not None)
    return text.prompt, text.generated, text.missing


def test_the_text_of_an_attached_run_is_that_of_its_tokens(tmp_path: Path) -> None:
    """The marks of the chat template are visible, and a character may span tokens."""
    assert parts_of(text_of([model_in(tmp_path)], CHAT)) == ("<s><|user|> Hello", " there€", LAST)


def test_recorded_samples_have_the_last_token_too(tmp_path: Path) -> None:
    models, ids = [model_in(tmp_path)], (THERE, E2, _82, AC, END)
    assert parts_of(text_of(models, CHAT, ids)) == ("<s><|user|> Hello", " there€</s>", None)
    others = (HELLO, *ids[1:])  # of a program that takes in others than it sampled
    assert parts_of(text_of(models, CHAT, others)) == ("<s><|user|> Hello", " there€", LAST)
    assert parts_of(text_of(models, CHAT[:3], (THERE,))) == ("<s><|user|> Hello", " there", None)


def test_what_the_logger_lost_is_completed_from_the_tokens(tmp_path: Path) -> None:
    models, ids = [model_in(tmp_path)], (THERE, E2, _82, AC, END)
    for printed, whole in ((" the", " there€</s>"), (" there€</s>", " there€</s>"), (" other", " other")):
        text = text_of(models, CHAT, ids, given=printed)
        assert (text.prompt, text.generated) == (printed, whole) and text.restored is None


def test_half_a_character_at_the_end_is_replaced(tmp_path: Path) -> None:
    assert text_of([model_in(tmp_path)], CHAT[:-1]).generated == " there\ufffd"


def test_the_first_of_several_prompts_is_restored(tmp_path: Path) -> None:
    models = [model_in(tmp_path)]
    more = "1 later prompt and what followed"
    assert parts_of(text_of(models, [*CHAT, *AGAIN])) == ("<s><|user|> Hello", " there€", f"{LAST}; {more}")
    again: list[Pass] = [("prompt", 0, [BEGIN, HELLO], 1), ("prompt", 1, [THERE], 2)]
    assert parts_of(text_of(models, [*CHAT[:3], *again]))[2] == (
        "the generated token, which no recorded pass took in; 2 later prompts and what followed"
    )


def test_where_it_is_not_clear_what_belongs_together_nothing_is_restored(tmp_path: Path) -> None:
    models = [model_in(tmp_path)]
    assert parts_of(text_of(models, [*CHAT, *AGAIN], sequences={7: 1, 8: 2})) == (None, None, "3 sequences")
    assert parts_of(text_of(models, [*CHAT, *AGAIN], contexts={7: 1, 8: 1})) == (None, None, "2 contexts")
    assert parts_of(text_of([*models, *models], CHAT)) == (None, None, "2 models")
    assert parts_of(text_of([], CHAT)) == (None, None, "no model file is known")
    for kind in ("mixed", "draft", "verify"):
        assert parts_of(text_of(models, [*CHAT, (kind, 7, [THERE], None)]))[2] == (
            "passes of several sequences, of drafts, or that give no next token"
        )
    assert parts_of(text_of(models, CHAT, positions=False))[2] == "which tokens were where was not recorded"
    assert parts_of(text_of(models, [("prompt", 0, [None, None], 0)]))[2] == "tokens were given as embeddings"
    assert parts_of(text_of(models, CHAT[:1]))[2] == "no pass of a prompt or of generated tokens was recorded"
    assert parts_of(text_of([model_in(tmp_path, "of tomorrow")], CHAT))[2] == (
        "the vocabulary of the model file is missing, or of a kind that tracegen cannot read"
    )
    unknown: Pass = ("generate", 7, [99], None)
    assert parts_of(text_of(models, [*CHAT, unknown])) == (
        "<s><|user|> Hello",
        None,
        "the generated text, as the vocabulary of the model file does not say what token 99 is",
    )


def test_a_prompt_of_which_a_part_was_not_computed_is_missing(tmp_path: Path) -> None:
    models = [model_in(tmp_path)]
    assert parts_of(text_of(models, CHAT[2:])) == (
        None,
        " there€",
        f"the prompt, as no recorded pass took in its first 2 tokens; {LAST}",
    )
    assert parts_of(text_of(models, CHAT[3:])) == (
        None,
        " there€",
        f"the prompt and what else came before the first recorded pass; {LAST}",
    )
    assert parts_of(text_of(models, CHAT[:2])) == ("<s><|user|>", None, "what came after")


def test_a_text_that_is_known_is_not_restored(tmp_path: Path) -> None:
    text = text_of([model_in(tmp_path)], CHAT, given="What was typed")
    assert text.prompt == text.generated == "What was typed"
    assert text.restored is None and text.missing is None


def test_a_restored_text_is_withheld_as_a_typed_one(tmp_path: Path) -> None:
    text = text_of([model_in(tmp_path)], CHAT)
    settings, command = Settings(private=False), ("python3", "<s><|user|> Hello")
    facts = Facts(settings=settings, text=text, command=command)
    run = Run("chat", 1, "2026-11-20T12:00:00Z", (), facts)
    summary = "\n".join(privacy.public_summary(run))
    assert "prompt (restored from token ids): <s><|user|> Hello" in summary
    assert f"not recorded of prompt and generated text: {LAST}" in summary
    private = str(privacy.public_run(privacy.made_private(run)).facts)
    assert "Hello" not in private and "there" not in private and "user" not in private
    assert "Hello" not in "\n".join(privacy.public_summary(privacy.made_private(run)))
