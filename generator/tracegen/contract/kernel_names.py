"""Which operation of ggml a kernel computes, by the kernel's name: OpenCL's and CUDA's backends name them alike."""

import re
from collections.abc import Iterable
from functools import lru_cache

# The first pattern that fits counts. A product quantizes its activations first (quantize_q8_1): a part of it.
_OPS = tuple(
    (re.compile(pattern), op)
    for pattern, op in (
        (r"mul_(mat|mm|mv|vec)\w*_id|moe_gemm|gemm_moe|gemv_moe|mm_ids_helper", "MUL_MAT_ID"),
        (r"mul_mat|mul_mm|mul_mv|gemm|gemv|mmq|nvjet|splitkreduce", "MUL_MAT"),
        (r"quantize_(mmq_)?q8_1|convert_unary|dequantize", "MUL_MAT"),
        (r"flash_attn|fattn", "FLASH_ATTN_EXT"),
        (r"set_rows", "SET_ROWS"),
        (r"get_rows", "GET_ROWS"),
        (r"rms_norm", "RMS_NORM"),
        (r"l2_norm", "L2_NORM"),
        (r"group_norm", "GROUP_NORM"),
        (r"rope", "ROPE"),
        (r"(^|_)norm", "NORM"),
        (r"soft_?max", "SOFT_MAX"),
        (r"argsort|topk_moe", "ARGSORT"),
        (r"unary_gated|swiglu|geglu|reglu", "GLU"),
        (r"ssm_conv", "SSM_CONV"),
        (r"ssm_scan", "SSM_SCAN"),
        (r"gated_delta_net", "GATED_DELTA_NET"),
        (r"cpy|copy", "CPY"),
        (r"concat", "CONCAT"),
        (r"sum_rows|reduce_rows", "SUM_ROWS"),
        (r"silu|gelu|relu|sigmoid|tanh|unary", "UNARY"),
        (r"scale", "SCALE"),
        (r"(^|_)add_id", "ADD_ID"),
        (r"op_add|(^|_)add", "ADD"),
        (r"op_sub|(^|_)sub", "SUB"),
        (r"op_mul|(^|_)mul|moe_weighted_reduction", "MUL"),
        (r"op_div|(^|_)div", "DIV"),
    )
)


# Kernels that do a part of an operation which has one of its own: they prepare what that reads, or end what it began.
_BEFORE = re.compile(r"quantize_|convert_unary|mm_ids_helper|mask_to_kv")
_AFTER = re.compile(r"fixup|combine_results|splitkreduce")
# A name as the linker has it, as `_ZN2ns13mul_mat_vec_qIL9ggml_type2EEvPKv`: lengths stand before its parts.
_LINKED = re.compile(r"_Z[NLK]*(?=\d)")


_CUTLASS = re.compile(r"cutlass_\d+_\w+?(?=EEv|[<>(, ]|$)")  # all kernels of this library are called Kernel2


@lru_cache(4096)
def short_name(kernel: str) -> str:
    """The name of a kernel without its result, namespaces, template arguments and parameters; of CUTLASS what it is."""
    if named := _CUTLASS.search(kernel):
        return named[0]
    if linked := _LINKED.match(kernel):
        return _last_part(kernel, linked.end()) or kernel
    name = re.sub(r"[<(].*", "", kernel.removeprefix("void ").strip(), flags=re.DOTALL)
    return name.split("::")[-1].strip() or kernel


def _last_part(kernel: str, at: int) -> str:
    """The last part of a name whose parts begin at this place, each after its length."""
    part = ""
    while found := re.match(r"L?(\d{1,3})", kernel[at:]):
        at += found.end()
        part, at = kernel[at : at + int(found[1])], at + int(found[1])
    return part


@lru_cache(4096)
def op_of(kernel: str) -> str | None:
    """ggml's name of the operation that a kernel computes, None where its name does not say.

    Template arguments count where the name itself says nothing (`k_bin_bcast<&op_add, …>`).
    """
    for text in (short_name(kernel), kernel):
        for pattern, op in _OPS:
            if pattern.search(text.lower()):
                return op
    return None


@lru_cache(4096)
def part_of(kernel: str) -> int:
    """Where the kernel is whose operation this one does a part of: 1 after it, -1 before it; 0: it does a whole one."""
    name = short_name(kernel).lower()
    return 1 if _BEFORE.search(name) else -1 if _AFTER.search(name) else 0


def ops_of(kernels: Iterable[str]) -> tuple[list[str], list[str]]:
    """The operation of each kernel, or its short name where that does not say; and the names that do not, in order."""
    known: dict[str, str | None] = {}
    ops = [known.setdefault(kernel, op_of(kernel)) or short_name(kernel) for kernel in kernels]
    return ops, sorted({short_name(kernel) for kernel, op in known.items() if op is None})
