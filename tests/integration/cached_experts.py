"""Greedy tokens of a mixture whose experts lie with the CPU, with llama.cpp's cache of experts on the device.

Runs in the environment of tests/vulkan.py. usage: cached_experts.py MODEL PROMPT TOKENS CACHE_BYTES
"""

import sys

from inferna.llama import llama_cpp

model_file, prompt, n_tokens, cache_bytes = sys.argv[1:]
llama_cpp.ggml_backend_load_all()
with_cpu = llama_cpp.LlamaModelTensorBuftOverride()
with_cpu.pattern, with_cpu.buft = r"\.ffn_(up|down|gate)_exps", "CPU"
of_model = llama_cpp.LlamaModelParams()
of_model.n_gpu_layers, of_model.tensor_buft_overrides = 99, [with_cpu]
model = llama_cpp.LlamaModel(model_file, of_model)
of_context = llama_cpp.LlamaContextParams()
of_context.n_ctx, of_context.n_batch, of_context.moe_cache_size = 512, 512, int(cache_bytes)
context = llama_cpp.LlamaContext(model, of_context)
sampler = llama_cpp.LlamaSampler(llama_cpp.LlamaSamplerChainParams())
sampler.add_greedy()
tokens = model.get_vocab().tokenize(prompt, True, True)
context.decode(llama_cpp.llama_batch_get_one(tokens))
for position in range(len(tokens), len(tokens) + int(n_tokens) - 1):
    context.decode(llama_cpp.llama_batch_get_one([sampler.sample(context, -1)], position))
sampler.sample(context, -1)
