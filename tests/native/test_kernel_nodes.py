"""What kernels of a CUDA device compute: layers of three models, checked by hand against llama.cpp's source."""

from pathlib import Path

import pytest

from tracegen.contract.kernel_names import op_of, part_of, short_name
from tracegen.readers.native.kernel_nodes import Computed, kernel_nodes

# A line for each kernel of a layer: its name, the node that it begins with, and what it computes; then the nodes, of
# which those with a minus compute nothing. Recorded on an H200 with CUDA 13.
CASES = {
    name: lines.splitlines()
    for name, _, lines in (
        case.partition("\n") for case in Path(__file__).with_name("kernels_of_h200.txt").read_text().split("# ")[1:]
    )
}


@pytest.mark.parametrize("case", CASES)
def test_each_kernel_computes_its_nodes(case: str) -> None:
    *lines, last = CASES[case]
    kernels, expected = [], []
    for line in lines:
        kernel, node, operations = line.rsplit(" ", 2)
        kernels.append(kernel)
        expected.append(Computed(int(node), operations))
    words = last.split()[1:]
    ops, computes = [word.rstrip("-") for word in words], [not word.endswith("-") for word in words]
    assert kernel_nodes(kernels, range(len(ops)), ops, computes) == expected
    names = {of.operations for of in expected}
    assert {"RMS_NORM+MUL", "SET_ROWS"} <= names and len(kernels) >= 20


@pytest.mark.parametrize("case", CASES)
def test_each_node_that_computes_is_in_one_kernel(case: str) -> None:
    *lines, last = CASES[case]
    taken = [
        int(line.rsplit(" ", 2)[1]) + step
        for line in lines
        if part_of(line.split()[0]) == 0
        for step in range(line.rsplit(" ", 2)[2].count("+") + 1)
    ]
    words = last.split()[1:]
    assert len(taken) == len(set(taken))
    assert {i for i, word in enumerate(words) if not word.endswith("-")} <= set(taken)


def test_a_kernel_that_chooses_experts_may_make_the_probabilities_after_them() -> None:
    ops = ["MUL_MAT", "ADD", "ARGSORT", "VIEW", "GET_ROWS", "SOFT_MAX", "MUL_MAT_ID"]
    kernels = ["mul_mat_vec_f", "topk_moe_cuda", "mul_mat_vec_q", "_Z12soft_max_f32v", "k_get_rows_float"]
    of = kernel_nodes(kernels, range(10), [*ops, "SOFT_MAX", "GET_ROWS"], [op != "VIEW" for op in ops] + [True] * 2)
    assert [one.operations for one in of[:3]] == [
        "MUL_MAT+ADD",
        "ARGSORT+VIEW+GET_ROWS+SOFT_MAX",
        "MUL_MAT_ID",
    ]


def test_nothing_is_said_of_kernels_that_do_not_fit() -> None:
    of = kernel_nodes(["rope_norm", "k_argsort_f32", "unheard_of"], [3], ["MUL_MAT"], [True])
    assert of == [Computed(None, "ROPE"), Computed(None, "ARGSORT"), Computed(None, "unheard_of")]
    assert kernel_nodes([], [], [], []) == [] and kernel_nodes(["rope_norm"], [], [], [])[0].node is None


def test_names_of_kernels_of_a_device() -> None:
    assert op_of("_Z9rope_normILb1ELb0EffEvPKT1_") == "ROPE" and op_of("_Z13add_id_kernelPKfS0_PKiPfllmmmm") == "ADD_ID"
    assert op_of("nvjet_hsh_128x64_64x8_1x2_h_bz_TNT") == "MUL_MAT"
    cutlass = "_ZN7cutlass7Kernel2I50cutlass_80_tensorop_s1688gemm_64x64_16x6_tn_align4EEvNT_6ParamsE"
    assert op_of(cutlass) == "MUL_MAT" and short_name(cutlass) == "cutlass_80_tensorop_s1688gemm_64x64_16x6_tn_align4"
    assert [part_of(name) for name in ("quantize_q8_1", "mul_mat_q_stream_k_fixup", "mul_mat_q")] == [1, -1, 0]
