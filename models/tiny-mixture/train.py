"""Train the tiny mixture.

    pip install -e '.[models]'
    apt-get install bible-kjv bible-kjv-text debian-handbook manpages-de
    python models/tiny-mixture/train.py --llama-cpp FOLDER [--steps N] [--out FOLDER]

Writes into the folder: tokenizer.json, model.pt (weights and shape), log.csv (step, loss, seconds). The run is the
same each time on the same machine: texts, their order and the first weights follow from the seed.
"""

import argparse
import csv
import math
import time
from pathlib import Path

import numpy as np
import torch
from model import Mixture, Shape
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import data

SEED = 20261125
BATCH = 8
RATE = 3e-3
WARMUP = 200
BALANCE = 0.02
BEGIN = "<|endoftext|>"


def tokenizer_of(texts: list[str], size: int) -> Tokenizer:
    """Byte pairs over bytes, as GPT-2's."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=[BEGIN],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return tokenizer


def tokens_of(texts: list[str], tokenizer: Tokenizer) -> np.ndarray:
    """All documents, one after another, each begun by BEGIN: uint16."""
    encoded = tokenizer.encode_batch(texts)
    return np.concatenate([np.array([0, *each.ids], np.uint16) for each in encoded])


def train(model: Mixture, fields: list[np.ndarray], first_step: int, steps: int, log: Path) -> None:
    """AdamW; each batch has as many windows of each field. The rate follows a cosine over all steps."""
    context = model.shape.context
    draw = np.random.default_rng(SEED + first_step)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.95), weight_decay=0.1)
    began = time.monotonic()
    with log.open("a" if first_step else "w", newline="") as file:
        rows = csv.writer(file)
        if not first_step:
            rows.writerow(("step", "loss", "imbalance", "seconds"))
        for step in range(first_step, steps):
            done = step / steps
            rate = RATE * min((step + 1) / WARMUP, 0.05 + 0.95 * (1 + math.cos(math.pi * done)) / 2)
            for group in optimizer.param_groups:
                group["lr"] = rate
            windows = []
            for place in range(BATCH):
                field = fields[place % len(fields)]
                first = draw.integers(len(field) - context)
                windows.append(field[first : first + context + 1].astype(np.int64))
            batch = torch.from_numpy(np.stack(windows))
            logits = model(batch[:, :-1])
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
            imbalance = model.imbalance()
            optimizer.zero_grad(set_to_none=True)
            (loss + BALANCE * imbalance).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if step % 20 == 19:
                row = (step + 1, round(loss.item(), 4), round(imbalance.item(), 4), round(time.monotonic() - began, 1))
                rows.writerow(row)
                file.flush()
            if step % 500 == 499:
                keep(model, log.with_name("model.pt"))
                print(*row, flush=True)


def keep(model: Mixture, file: Path) -> None:
    """Weights and shape."""
    part = file.with_suffix(".part")
    torch.save({"shape": model.shape.as_dict(), "weights": model.state_dict()}, part)
    part.replace(file)


def main() -> None:
    """The program."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--llama-cpp", type=Path, required=True, help="folder with llama.cpp's source")
    options.add_argument("--out", type=Path, default=Path("tiny-mixture"))
    options.add_argument("--steps", type=int, default=5000)
    options.add_argument("--resume", type=int, default=0, metavar="STEP", help="go on with the weights of this step")
    options.add_argument("--threads", type=int, default=2)
    chosen = options.parse_args()
    torch.manual_seed(SEED)
    torch.set_num_threads(chosen.threads)
    chosen.out.mkdir(parents=True, exist_ok=True)
    shape = Shape()
    texts = {field: data.split(each)[0] for field, each in data.documents(chosen.llama_cpp).items()}
    tokenizer = tokenizer_of([text for field in texts.values() for text in field], shape.vocabulary)
    tokenizer.save(str(chosen.out / "tokenizer.json"))
    fields = []
    for field, each in texts.items():
        fields.append(tokens_of(each, tokenizer))
        size = sum(len(text.encode()) for text in each)
        print(f"{field}: {len(each)} documents, {size} bytes, {len(fields[-1])} tokens", flush=True)
    model = Mixture(shape)
    print(f"{sum(each.numel() for each in model.parameters())} weights", flush=True)
    if chosen.resume:
        model.load_state_dict(torch.load(chosen.out / "model.pt", weights_only=True)["weights"])
    train(model, fields, chosen.resume, chosen.steps, chosen.out / "log.csv")
    keep(model, chosen.out / "model.pt")


if __name__ == "__main__":
    main()
