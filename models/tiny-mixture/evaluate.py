"""What the model card states, counted on held-out documents: `python evaluate.py tiny-mixture.gguf --llama-cpp FOLDER`.

With `--reference FILE` instead: what this model writes after four prompts, the likeliest token each time, and logits on
the way, for a test that compares llama.cpp's.

Prints, by field: perplexity of the model and of a unigram model (tokens of the training documents, one added to each
count), bits a byte, and the share of the most and of the least chosen expert of a layer. Then, by layer: how far the
choices of fields lie apart (mean Jensen-Shannon divergence of their expert shares, bits), the largest value of 1,000
shufflings of the fields of whole windows, and p.
"""

import argparse
import json
from pathlib import Path

import convert
import gguf
import numpy as np
import torch
from model import Mixture, Shape
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from train import BEGIN, tokens_of

import data

WINDOWS = 40  # of each field
SHUFFLES = 1000
WRITTEN = 40  # tokens after a prompt
EVERY_TOKEN, EVERY_LOGIT = 8, 16  # of which the reference holds the logits
PROMPTS = (
    "And it came to pass in the days of the king, that",
    "Diese Option gibt an, ob",
    "import os\nimport sys\n\n",
    "#include <stdio.h>\n\nint main(",
)


def loaded(path: Path) -> Mixture:
    """The model of a GGUF file, with the weights that llama.cpp computes with."""
    weights = convert.read(path)
    fields = gguf.GGUFReader(path).fields
    shape = Shape(context=int(fields["llama.context_length"].contents()))
    model = Mixture(shape)
    model.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
    return model.eval()


def shares_of(chosen: np.ndarray, experts: int) -> np.ndarray:
    """How often each expert was chosen: windows × layers × tokens × used becomes layers × experts, sums of 1."""
    counts = np.stack([np.bincount(layer.ravel(), minlength=experts) for layer in chosen.swapaxes(0, 1)])
    return counts / counts.sum(1, keepdims=True)


def divergence(shares: np.ndarray) -> np.ndarray:
    """By layer, the Jensen-Shannon divergence of fields × layers × experts, bits."""
    mean = shares.mean(0)
    return entropy(mean) - entropy(shares).mean(0)


def entropy(shares: np.ndarray) -> np.ndarray:
    """Of the last axis, bits."""
    return -(shares * np.log2(np.where(shares > 0, shares, 1))).sum(-1)


def vocabulary(path: Path) -> Tokenizer:
    """The byte pairs of a GGUF file."""
    fields = gguf.GGUFReader(path).fields
    tokens, merges = (fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "merges"))
    numbers = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(numbers, [tuple(pair.split(" ")) for pair in merges]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([BEGIN])
    return tokenizer


def greedy(model: Mixture, tokenizer: Tokenizer, prompt: str) -> tuple[list[int], list[list[float]]]:
    """The likeliest tokens after a prompt, and the logits that gave every eighth of them."""
    tokens = [0, *tokenizer.encode(prompt).ids]
    first, logits = len(tokens), []
    with torch.no_grad():
        for _ in range(WRITTEN):
            logits.append(model(torch.tensor([tokens]))[0, -1])
            tokens.append(int(logits[-1].argmax()))
    held = [[round(value, 4) for value in each[::EVERY_LOGIT].tolist()] for each in logits[::EVERY_TOKEN]]
    return tokens[first:], held


def main() -> None:
    """The program."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("gguf", type=Path)
    what = options.add_mutually_exclusive_group(required=True)
    what.add_argument("--llama-cpp", type=Path, help="folder with llama.cpp's source, one of the texts")
    what.add_argument("--reference", type=Path, help="file to write")
    chosen = options.parse_args()
    model, tokenizer = loaded(chosen.gguf), vocabulary(chosen.gguf)
    if chosen.reference:
        held = []
        for prompt in PROMPTS:
            tokens, logits = greedy(model, tokenizer, prompt)
            held.append(f" {json.dumps(prompt)}: {json.dumps({'tokens': tokens, 'logits': logits})}")
        lines = ",\n".join(held)
        chosen.reference.write_text(f"{{\n{lines}\n}}\n", "utf-8")
        return
    shape, draw, routes, labels = model.shape, np.random.default_rng(0), [], []
    print("field     perplexity  unigram  bits/byte  most  least")
    for number, (field, texts) in enumerate(data.documents(chosen.llama_cpp).items()):
        training, held_out = data.split(texts)
        counts = np.bincount(tokens_of(training, tokenizer), minlength=shape.vocabulary) + 1
        tokens = tokens_of(held_out, tokenizer)
        size = sum(len(text.encode()) for text in held_out) / len(tokens)
        starts = draw.choice(len(tokens) // shape.context - 1, WINDOWS, replace=False) * shape.context
        losses, of_field = [], []
        for start in starts:
            window = torch.from_numpy(tokens[start : start + shape.context + 1].astype(np.int64))
            with torch.no_grad():
                logits = model(window[None, :-1])
            losses.append(torch.nn.functional.cross_entropy(logits[0], window[1:]).item())
            of_field.append(torch.stack([layer.experts.chosen for layer in model.layers]).numpy())
        routes.append(np.stack(of_field))
        labels += [number] * WINDOWS
        unigram = np.exp(-np.log(counts / counts.sum())[tokens].mean())
        share, bits = shares_of(routes[-1], shape.experts), np.mean(losses) / np.log(2) / size
        said = f"{np.exp(np.mean(losses)):10.1f}  {unigram:7.0f}  {bits:9.2f}"
        print(f"{field:8}  {said}  {share.max():.3f}  {share.min():.3f}")
    every, labels = np.concatenate(routes), np.array(labels)
    found = divergence(np.stack([shares_of(each, shape.experts) for each in routes]))
    by_chance = []
    for _ in range(SHUFFLES):
        mixed = draw.permutation(labels)
        by_chance.append(
            divergence(np.stack([shares_of(every[mixed == n], shape.experts) for n in range(len(routes))]))
        )
    worst = np.stack(by_chance)
    print("layer  divergence  largest shuffled  p")
    for layer, value in enumerate(found):
        p = (1 + (worst[:, layer] >= value).sum()) / (1 + SHUFFLES)
        print(f"{layer:5}  {value:10.4f}  {worst[:, layer].max():16.4f}  {p:.4f}")
    for prompt in PROMPTS:
        print(repr(prompt), "->", repr(tokenizer.decode(greedy(model, tokenizer, prompt)[0])))
    whole = shares_of(every, shape.experts)
    print("all fields: most chosen", whole.max(1).round(3), "least", whole.min(1).round(3))


if __name__ == "__main__":
    main()
