"""Which nodes of a split each kernel of a CUDA device computes: kernels name none, but run in the order of the nodes.

A kernel computes a node of its operation, and may compute the next ones with it: llama.cpp fuses a norm with what it is
multiplied with, a product with a bias or with the product and the gate beside it, and others. So kernels and nodes are
aligned, in order, such that nodes which have no kernel of their own follow one that may have taken them in.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracegen.contract import kernel_names

# Operations whose kernels have the same names, or are named by their kind.
_SAME = {
    "MUL_MAT_ID": "MUL_MAT",
    **dict.fromkeys(("CONT", "DUP"), "CPY"),
    **dict.fromkeys(("REGLU", "GEGLU", "SWIGLU", "SWIGLU_OAI", "GEGLU_ERF", "GEGLU_QUICK"), "GLU"),
    **dict.fromkeys(("RELU", "SIGMOID", "SILU", "TANH", "GELU", "GELU_QUICK", "GELU_ERF", "EXP", "SOFTPLUS"), "UNARY"),
}
_BIASES = ("ADD", "ADD_ID")  # may lie between a product and its gate
_CHOICE, _BEGINS = "topk_moe", ("SOFT_MAX", "UNARY", "ARGSORT")  # chooses experts, makes their probabilities first

# What it costs to say that a node has no kernel of its own, and that a kernel has no node.
_NO_KERNEL, _FUSED, _UNLIKELY, _NO_NODE = 0.1, 1.0, 4.0, 6.0
_FOLLOWS = (*_BIASES, "MUL", "GLU", "UNARY", "SET_ROWS", "CPY", "SCALE")  # what kernels take in after their own
_NEAR = 3  # nodes: a kernel that chooses experts may make the probabilities of these alone, after them
_LARGEST = 20_000_000  # kernels times nodes: more are not aligned
_TRUSTED = 0.9  # of the kernels with a known operation have a node: else none is said to


@dataclass(frozen=True)
class Computed:
    """What a kernel computes: its first node (None: not known), and the operations, joined by +, or its short name."""

    node: int | None
    operations: str


def kernel_nodes(
    kernels: Sequence[str], number: Sequence[int], op: Sequence[str], computes: Sequence[bool]
) -> list[Computed]:
    """What each kernel of a split computes, in their order; `number`, `op` and `computes` are those of its nodes.

    A kernel that only does a part of an operation (`kernel_names.part_of`) belongs to the one whose part it does.
    """
    ops = [kernel_names.op_of(kernel) for kernel in kernels]
    whole = [i for i, kernel in enumerate(kernels) if ops[i] and not kernel_names.part_of(kernel)]
    nodes = [i for i, computing in enumerate(computes) if computing]
    found = _aligned([_begins(kernels[i], str(ops[i])) for i in whole], [_SAME.get(op[i], op[i]) for i in nodes])
    place = {kernel: nodes[at] for kernel, at in zip(whole, found, strict=True) if at is not None}
    begins = sorted(place.values())
    ends = dict(zip(begins, [*begins, len(op)][1:], strict=True))
    result = [
        Computed(None, known or kernel_names.short_name(kernel)) for known, kernel in zip(ops, kernels, strict=True)
    ]
    for kernel, at in place.items():
        taken = [i for i in range(at, ends[at]) if computes[i]]
        result[kernel] = Computed(number[at], "+".join(op[at : taken[-1] + 1]))
    for i, name in enumerate(kernels):
        if (towards := kernel_names.part_of(name)) and ops[i]:
            nearest = _nearest(place, ops, i, towards)
            result[i] = result[i] if nearest is None else result[nearest]
    return result


def _nearest(place: dict[int, int], ops: Sequence[str | None], i: int, towards: int) -> int | None:
    """The next kernel of the same operation, after (1) or before (-1) this one, if it has a node and is not far."""
    for at in range(i + towards, i + 4 * towards, towards):
        if at in place and ops[at] is not None and _SAME.get(str(ops[at]), ops[at]) == _SAME.get(str(ops[i]), ops[i]):
            return at
    return None


def _begins(kernel: str, op: str) -> tuple[str, ...]:
    """The classes of operations with which a kernel of this operation may begin."""
    return _BEGINS if _CHOICE in kernel else (_SAME.get(op, op),)


def _aligned(classes: Sequence[tuple[str, ...]], nodes: Sequence[str]) -> list[int | None]:
    """The node of each kernel: the cheapest alignment that keeps both orders.

    `classes`: of operations with which each kernel may begin; `nodes`: the class of each. Among equally cheap ones
    the later node, as what precedes it is fused into the kernel before.
    """
    m, n = len(classes), len(nodes)
    if not m or not n or m * n > _LARGEST:
        return [None] * m
    absorb = np.array(_costs(nodes, {name for names in classes for name in names}))
    before = np.concatenate([[0.0], np.cumsum(absorb)])
    of_class = {names: np.array([node in names for node in nodes]) for names in set(classes)}
    best = np.empty((m + 1, n + 1))
    best[0] = before
    for i, names in enumerate(classes):
        ended = np.concatenate([[np.inf], np.where(of_class[names], best[i, :-1], np.inf)])
        row = np.minimum(ended, best[i] + _NO_NODE)
        best[i + 1] = np.minimum.accumulate(row - before) + before  # nodes after it that have no kernel
    found = _traced(best, absorb, [of_class[names] for names in classes])
    return found if sum(at is not None for at in found) >= _TRUSTED * m else [None] * m


def _traced(best: np.ndarray, absorb: np.ndarray, fits: Sequence[np.ndarray]) -> list[int | None]:
    """The alignment with the costs `best`, from its end."""
    found: list[int | None] = [None] * len(fits)
    i, j = len(fits), len(absorb)
    while i:
        if j and fits[i - 1][j - 1] and np.isclose(best[i, j], best[i - 1, j - 1]):
            i, j = i - 1, j - 1
            found[i] = j
        elif j and np.isclose(best[i, j], best[i, j - 1] + absorb[j - 1]):
            j -= 1
        else:
            i -= 1
    return found


def _costs(nodes: Sequence[str], own: set[str]) -> list[float]:
    """What it costs that each node has no kernel of its own; `own`: classes that kernels of the split have."""
    return [
        _NO_KERNEL if of not in own else _FUSED if _may_follow(nodes, i) else _UNLIKELY for i, of in enumerate(nodes)
    ]


def _may_follow(nodes: Sequence[str], i: int) -> bool:
    """Whether a kernel of a node before may compute this one, too."""
    node, before = nodes[i], nodes[max(i - _NEAR, 0) : i]
    if node == "MUL_MAT":
        return next((of for of in nodes[i + 1 :] if of not in _BIASES), "") == "GLU"
    if node == "ARGSORT":
        return before[-1:] in (["SOFT_MAX"], ["UNARY"])
    if node == "SOFT_MAX":
        return "ARGSORT" in before
    return node in _FOLLOWS
