"""Which names are known: harmless variables and flags, and words that make a name look like that of a secret.

The tracer has the same lists of variables, in native/core/environment.h. `withheld.py` has the rules.
"""

# Variables that the tracer looks at: they change what is measured.
FAMILIES = ("GGML_", "LLAMA_", "OMP_", "GOMP_", "KMP_", "TENSOR_TRACE_", "MALLOC_")
# In the name of a variable, flag or setting: it looks like a secret. Case does not matter.
SECRET_WORDS = (
    "KEY", "TOKEN", "SECRET", "PASSW", "PASSPHRASE", "CREDENTIAL", "AUTH", "COOKIE", "BEARER", "SIGNATURE", "PRIVATE",
    "PWD", "_PASS",
)  # fmt: skip
# With which tokens of well-known services begin
TOKEN_PREFIXES = (
    "hf_", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "github_pat_", "glpat-", "xox", "AKIA", "AIza", "eyJ",
)  # fmt: skip
# Variables of llama.cpp, ggml, OpenMP, the C library and the tracer that hold a number, a word or a list of them
_HARMLESS = """
GGML_BACKTRACE_LLDB GGML_CPU_DISABLE_FUSION GGML_CPU_TILED_MM GGML_CPU_TILED_MM_FORCE GGML_CUDA_DISABLE_FUSION
GGML_CUDA_DISABLE_GRAPHS GGML_CUDA_ENABLE_UNIFIED_MEMORY GGML_CUDA_FORCE_CUBLAS GGML_CUDA_FORCE_MMQ
GGML_CUDA_GRAPH_OPT GGML_CUDA_MMQ_PREC GGML_CUDA_NO_PINNED GGML_CUDA_P2P GGML_CUDA_REGISTER_HOST GGML_NO_BACKTRACE
GGML_OP_OFFLOAD_MIN_BATCH GGML_RPC_DEBUG GGML_RPC_NO_RDMA GGML_SCHED_DEBUG GGML_VK_DISABLE_ASYNC
GGML_VK_DISABLE_BFLOAT16 GGML_VK_DISABLE_COOPMAT GGML_VK_DISABLE_COOPMAT2 GGML_VK_DISABLE_F16 GGML_VK_DISABLE_FUSION
GGML_VK_DISABLE_GRAPH_OPTIMIZE GGML_VK_DISABLE_INTEGER_DOT_PRODUCT GGML_VK_FORCE_MAX_ALLOCATION_SIZE
GGML_VK_FORCE_MAX_BUFFER_SIZE GGML_VK_PERF_LOGGER GGML_VK_PREFER_HOST_MEMORY GGML_VK_VISIBLE_DEVICES
GOMP_CPU_AFFINITY GOMP_DEBUG GOMP_SPINCOUNT GOMP_STACKSIZE KMP_AFFINITY KMP_BLOCKTIME KMP_HW_SUBSET KMP_LIBRARY
KMP_SETTINGS KMP_STACKSIZE KMP_TPAUSE LLAMA_ARG_BATCH LLAMA_ARG_CACHE_PROMPT LLAMA_ARG_CACHE_RAM
LLAMA_ARG_CACHE_REUSE LLAMA_ARG_CACHE_TYPE_K LLAMA_ARG_CACHE_TYPE_V LLAMA_ARG_CONTEXT_SHIFT LLAMA_ARG_CONT_BATCHING
LLAMA_ARG_CPU_MOE LLAMA_ARG_CTX_CHECKPOINTS LLAMA_ARG_CTX_SIZE LLAMA_ARG_DEFRAG_THOLD LLAMA_ARG_DEVICE
LLAMA_ARG_EMBEDDINGS LLAMA_ARG_FIT LLAMA_ARG_FIT_CTX LLAMA_ARG_FIT_TARGET LLAMA_ARG_FLASH_ATTN LLAMA_ARG_KV_OFFLOAD
LLAMA_ARG_KV_UNIFIED LLAMA_ARG_LAZY_MODE LLAMA_ARG_LOAD_MODE LLAMA_ARG_LOG_COLORS LLAMA_ARG_LOG_PREFIX
LLAMA_ARG_LOG_TIMESTAMPS LLAMA_ARG_LOG_VERBOSITY LLAMA_ARG_MAIN_GPU LLAMA_ARG_MLOCK LLAMA_ARG_MMAP LLAMA_ARG_NO_HOST
LLAMA_ARG_NUMA LLAMA_ARG_N_CPU_FFN LLAMA_ARG_N_CPU_MOE LLAMA_ARG_N_GPU_LAYERS LLAMA_ARG_N_PARALLEL
LLAMA_ARG_N_PREDICT LLAMA_ARG_OFFLINE LLAMA_ARG_PERF LLAMA_ARG_POOLING LLAMA_ARG_REPACK LLAMA_ARG_RERANKING
LLAMA_ARG_ROPE_FREQ_BASE LLAMA_ARG_ROPE_FREQ_SCALE LLAMA_ARG_ROPE_SCALE LLAMA_ARG_ROPE_SCALING_TYPE
LLAMA_ARG_SPEC_DRAFT_N_MAX LLAMA_ARG_SPEC_DRAFT_N_MIN LLAMA_ARG_SPEC_DRAFT_P_MIN LLAMA_ARG_SPLIT_MODE
LLAMA_ARG_SWA_FULL LLAMA_ARG_TENSOR_SPLIT LLAMA_ARG_THREADS LLAMA_ARG_THREADS_HTTP LLAMA_ARG_UBATCH
LLAMA_ARG_YARN_ATTN_FACTOR LLAMA_ARG_YARN_BETA_FAST LLAMA_ARG_YARN_BETA_SLOW LLAMA_ARG_YARN_EXT_FACTOR
LLAMA_ARG_YARN_ORIG_CTX LLAMA_KV_CACHE_DEBUG LLAMA_TRACE MALLOC_ARENA_MAX MALLOC_ARENA_TEST MALLOC_CHECK_
MALLOC_MMAP_MAX_ MALLOC_MMAP_THRESHOLD_ MALLOC_PERTURB_ MALLOC_TOP_PAD_ MALLOC_TRIM_THRESHOLD_ OMP_CANCELLATION
OMP_DEFAULT_DEVICE OMP_DISPLAY_AFFINITY OMP_DISPLAY_ENV OMP_DYNAMIC OMP_MAX_ACTIVE_LEVELS OMP_MAX_TASK_PRIORITY
OMP_NESTED OMP_NUM_THREADS OMP_PLACES OMP_PROC_BIND OMP_SCHEDULE OMP_STACKSIZE OMP_TARGET_OFFLOAD OMP_THREAD_LIMIT
OMP_WAIT_POLICY TENSOR_TRACE_AFTER TENSOR_TRACE_CLOCK TENSOR_TRACE_FAULTS TENSOR_TRACE_FAULT_PAGES TENSOR_TRACE_FOR
TENSOR_TRACE_MAX_BYTES TENSOR_TRACE_PASSES TENSOR_TRACE_PREFAULT TENSOR_TRACE_RESIDENCY TENSOR_TRACE_SIGNAL
TENSOR_TRACE_VERIFY
"""
HARMLESS = tuple(_HARMLESS.split())
# Flags that hold a secret although their name does not say so
SECRET_FLAGS = (
    "-hft", "--mcp-servers-json", "--mcp-servers-config", "--ui-config", "--webui-config", "--cors-headers",
)  # fmt: skip
# Flags that hold no secret although their name looks like it: a count, or nothing
HARMLESS_FLAGS = (
    "--print-token-count", "--image-min-tokens", "--image-max-tokens", "--mtmd-batch-max-tokens", "--cors-credentials",
    "--no-cors-credentials", "--override-kv", "--max-tokens", "--max-new-tokens", "--n-tokens", "--num-tokens",
)  # fmt: skip
# Flags whose values may become public whatever the program is
PUBLIC_FLAGS = (
    "-m", "--model", "-n", "--n-predict", "--predict", "-t", "--threads", "-tb", "--threads-batch", "-c", "--ctx-size",
    "-b", "--batch-size", "-ub", "--ubatch-size", "-s", "--seed", "-ngl", "--n-gpu-layers", "-np", "--parallel", "-fa",
    "--flash-attn", "-ctk", "--cache-type-k", "-ctv", "--cache-type-v", "--temp", "--top-k", "--top-p", "--min-p",
)  # fmt: skip
LLAMA_CPP = "llama-"  # with which the names of llama.cpp's programs begin
# Programs that start another one and pass on what stands behind its name
STARTERS = (
    "chrt", "env", "ionice", "nice", "nohup", "numactl", "setsid", "stdbuf", "sudo", "taskset", "time", "timeout",
)  # fmt: skip
