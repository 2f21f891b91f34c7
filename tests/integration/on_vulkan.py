"""Greedy tokens of a model whose layers lie on the device, with settings of llama.cpp's context.

Runs in the environment of tests/vulkan.py. usage: on_vulkan.py MODEL PROMPT TOKENS [experts=CPU] [SETTING=NUMBER...]
"""

import sys

from inferna.llama import llama_cpp

model_file, prompt, n_tokens, *settings = sys.argv[1:]
llama_cpp.ggml_backend_load_all()
of_model, of_context = llama_cpp.LlamaModelParams(), llama_cpp.LlamaContextParams()
of_model.n_gpu_layers, of_context.n_ctx, of_context.n_batch = 99, 512, 512
for name, value in (setting.split("=") for setting in settings):
    if name == "experts":
        with_cpu = llama_cpp.LlamaModelTensorBuftOverride()
        with_cpu.pattern, with_cpu.buft = r"\.ffn_(up|down|gate)_exps", value
        of_model.tensor_buft_overrides = [with_cpu]
    else:
        setattr(of_context, name, int(value))
model = llama_cpp.LlamaModel(model_file, of_model)
context = llama_cpp.LlamaContext(model, of_context)
sampler = llama_cpp.LlamaSampler(llama_cpp.LlamaSamplerChainParams())
sampler.add_greedy()
tokens = model.get_vocab().tokenize(prompt, True, True)
context.decode(llama_cpp.llama_batch_get_one(tokens))
for position in range(len(tokens), len(tokens) + int(n_tokens) - 1):
    context.decode(llama_cpp.llama_batch_get_one([sampler.sample(context, -1)], position))
sampler.sample(context, -1)
