"""Write a trained mixture as GGUF: `python convert.py FOLDER tiny-mixture.gguf [--type F32]`.

FOLDER is what train.py wrote. Matrices become Q8_0; norms and routers stay F32. Rotated pairs are neighbours in both
programs, so that nothing is reordered.
"""

import argparse
import json
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

NAMES = {
    "embedding.weight": "token_embd.weight",
    "norm.weight": "output_norm.weight",
    "output.weight": "output.weight",
}
OF_LAYER = {
    "attention_norm.weight": "attn_norm.weight",
    "attention.q.weight": "attn_q.weight",
    "attention.k.weight": "attn_k.weight",
    "attention.v.weight": "attn_v.weight",
    "attention.output.weight": "attn_output.weight",
    "experts_norm.weight": "ffn_norm.weight",
    "experts.router.weight": "ffn_gate_inp.weight",
    "experts.gate": "ffn_gate_exps.weight",
    "experts.up": "ffn_up_exps.weight",
    "experts.down": "ffn_down_exps.weight",
}


def name_in_file(name: str) -> str:
    """`layers.3.experts.up` is `blk.3.ffn_up_exps.weight`."""
    if name in NAMES:
        return NAMES[name]
    _, layer, rest = name.split(".", 2)
    return f"blk.{layer}.{OF_LAYER[rest]}"


def order(name: str) -> tuple[int, int]:
    """The embedding first, then layer by layer, each in the order of its operations; the output last."""
    if name in NAMES:
        return (-1 if name.startswith("embedding") else 1 << 20, list(NAMES).index(name))
    _, layer, rest = name.split(".", 2)
    return int(layer), list(OF_LAYER).index(rest)


def write_vocabulary(writer: gguf.GGUFWriter, tokenizer: dict) -> None:
    """The byte pairs as llama.cpp reads GPT-2's; token 0 begins and ends a text."""
    model = tokenizer["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if number == 0 else 1 for number in range(len(tokens))])
    writer.add_token_merges(merges)
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    writer.add_add_bos_token(True)


def write(weights: dict[str, np.ndarray], shape: dict, tokenizer: dict, path: Path, matrices: Type) -> None:
    """A whole file; `weights` by the names of the PyTorch model, float32."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("Tiny mixture")
    writer.add_description("Mixture of experts for experiments: English, German, Python and C. See its README.")
    writer.add_license("GPL-3.0-or-later")
    writer.add_context_length(shape["context"])
    writer.add_embedding_length(shape["width"])
    writer.add_block_count(shape["layers"])
    writer.add_feed_forward_length(shape["expert_width"])
    writer.add_head_count(shape["heads"])
    writer.add_head_count_kv(shape["heads"])
    writer.add_layer_norm_rms_eps(shape["epsilon"])
    writer.add_rope_dimension_count(shape["width"] // shape["heads"])
    writer.add_rope_freq_base(shape["rope_base"])
    writer.add_expert_count(shape["experts"])
    writer.add_expert_used_count(shape["used"])
    writer.add_vocab_size(shape["vocabulary"])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0 if matrices == Type.Q8_0 else gguf.LlamaFileType.ALL_F32)
    write_vocabulary(writer, tokenizer)
    for name in sorted(weights, key=order):
        values = weights[name]
        kind = Type.F32 if values.ndim == 1 or "router" in name else matrices
        data = values if kind == Type.F32 else gguf.quants.quantize(values, kind)
        writer.add_tensor(name_in_file(name), data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read(path: Path) -> dict[str, np.ndarray]:
    """The weights of a file that `write` wrote, as float32, by the names of the PyTorch model."""
    tensors = {t.name: gguf.quants.dequantize(t.data, t.tensor_type) for t in gguf.GGUFReader(path).tensors}
    layers = max(int(name.split(".")[1]) for name in tensors if name.startswith("blk.")) + 1
    names = [*NAMES, *(f"layers.{layer}.{rest}" for layer in range(layers) for rest in OF_LAYER)]
    return {name: np.array(tensors[name_in_file(name)], np.float32) for name in names}


def main() -> None:
    """The program."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path)
    options.add_argument("gguf", type=Path)
    options.add_argument("--type", choices=("Q8_0", "F32"), default="Q8_0")
    chosen = options.parse_args()
    import torch  # only here: `write` and `read` work without it

    kept = torch.load(chosen.folder / "model.pt", weights_only=True)
    weights = {name: value.numpy() for name, value in kept["weights"].items()}
    tokenizer = json.loads((chosen.folder / "tokenizer.json").read_text("utf-8"))
    write(weights, kept["shape"], tokenizer, chosen.gguf, Type[chosen.type])
    print(f"{chosen.gguf}: {chosen.gguf.stat().st_size} bytes")


if __name__ == "__main__":
    main()
