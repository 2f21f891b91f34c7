"""Which revision of ggml numbered the operations of a trace, by the names of the tensors that they made.

llama.cpp names the results of operations, and ggml derives names from these: `ffn_up-3` is a product of matrices,
`Qcur-0 (view) (permuted)` a PERMUTE. A name allows the operations that make such a result in some model.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tracegen.contract.errors import SettingsError, TraceFormatError
from tracegen.foreign.op_numbers import TABLES

Labelled = tuple[str, int]  # name of a node, number of its operation

_CUT = 63  # characters: a name of that length may have lost its end
_LEAST_SHARE = 0.9  # of the names that decide, which the numbers of a table must agree with
_PROJECTED = "MUL_MAT ADD RESHAPE VIEW CONT ROPE CLAMP MUL SCALE NORM RMS_NORM PERMUTE TRANSPOSE"
_BY_EXPERT = "MUL_MAT_ID ADD_ID ADD MUL VIEW"
_RULES = tuple(
    (re.compile(pattern), frozenset(ops.split()))
    for pattern, ops in (
        (r".*\(reshaped\)(?:-\d+)?", "RESHAPE"),
        (r".*\(permuted\)(?:-\d+)?", "PERMUTE"),
        (r".*\(transposed\)(?:-\d+)?", "TRANSPOSE"),
        (r".*\(view\)(?:-\d+)?", "VIEW SET_ROWS SET CPY"),
        (r".*\(cont\)(?:-\d+)?", "CONT"),
        (r".*\(copy(?: of .*)?\)(?:-\d+)?", "CPY DUP"),
        (r"norm(?:-\d+)?", "RMS_NORM NORM"),
        (r"(?:attn|ffn|result)_norm(?:-\d+)?", "MUL ADD RMS_NORM NORM"),
        (r"(?:inp_)?embd", "GET_ROWS ADD SCALE"),
        (r"[QKV]cur-\d+", _PROJECTED),
        (r"kq-\d+|kqv-\d+", "MUL_MAT"),
        (r"kq_soft_max(?:_ext)?-\d+", "SOFT_MAX"),
        (r"__fattn__-\d+", "FLASH_ATTN_EXT"),
        (r"kqv_out-\d+", "RESHAPE CONT MUL_MAT"),
        (r"(?:attn_out|ffn_(?:gate|up|down|out))-\d+|result_output", "MUL_MAT ADD MUL SCALE"),
        (r"(?:ffn_inp|l_out)-\d+", "ADD MUL SCALE"),
        (r"ffn_(?:moe_)?(?:swi|ge|re)glu-\d+", "GLU MUL"),
        (r"ffn_moe_logits-\d+", "MUL_MAT ADD"),
        (r"ffn_moe_argsort-\d+", "ARGSORT"),
        (r"ffn_moe_topk-\d+", "VIEW ARGSORT TOP_K"),
        (r"ffn_moe_(?:gate|up|down)-\d+", _BY_EXPERT),
        (r"ffn_moe_weights_sum-\d+", "SUM_ROWS"),
        (r"matmul.*", "MUL_MAT"),
        (r"final_result", "ADD"),
    )
)


@dataclass(frozen=True)
class OpTable:
    """A table of TABLES, and how many of the names that allow only some operations agree with it."""

    key: str
    agreeing: int
    deciding: int

    @property
    def names(self) -> tuple[str, ...]:
        """The names of operations, by number."""
        return TABLES[self.key]

    @property
    def found(self) -> str:
        """Key and counts, in words."""
        return f"{self.key}: {self.agreeing} of {self.deciding} names of nodes agree"


def allowed_ops(name: str) -> frozenset[str]:
    """The operations that may make a tensor of this name; empty when the name says nothing, as one that is cut."""
    if len(name) >= _CUT:
        return frozenset()
    return next((ops for pattern, ops in _RULES if pattern.fullmatch(name)), frozenset())


def scores(labelled: Iterable[Labelled]) -> tuple[OpTable, ...]:
    """How well each table fits; a number that it does not have agrees with no name."""
    deciding = [(ops, number) for name, number in set(labelled) if (ops := allowed_ops(name))]
    return tuple(
        OpTable(key, sum(number < len(names) and names[number] in ops for ops, number in deciding), len(deciding))
        for key, names in TABLES.items()
    )


def table_of(trace: str, labelled: Iterable[Labelled], numbers: Mapping[int, int], wanted: str | None) -> OpTable:
    """The table of a trace: the one that is wanted, or the one that names and numbers decide.

    `numbers` maps each number that occurs to the byte of its first record. Tables that give them the same names are
    equal: the last one counts. Raises TraceFormatError when nothing decides, or a number is not in the wanted table,
    SettingsError for an unknown table.
    """
    candidates = scores(labelled)
    if wanted is not None:
        return _wanted(trace, candidates, numbers, wanted)
    fitting = {
        tuple(table.names[number] for number in sorted(numbers)): table
        for table in candidates
        if max(numbers, default=0) < len(table.names)
    }
    ranked = sorted(fitting.values(), key=lambda table: table.agreeing, reverse=True)
    alone = len(ranked) == 1 or (len(ranked) > 1 and ranked[1].agreeing < ranked[0].agreeing)
    if alone and ranked[0].deciding and ranked[0].agreeing >= _LEAST_SHARE * ranked[0].deciding:
        return ranked[0]
    raise TraceFormatError(
        f"{trace}: expected numbers of operations that one of the known tables of ggml explains, found none that the "
        f"names of the nodes decide for ({'; '.join(_fit(table, numbers) for table in candidates)}); choose the "
        f"table of the ggml that ran with --op-table KEY: {', '.join(TABLES)}"
    )


def _fit(table: OpTable, numbers: Mapping[int, int]) -> str:
    beyond = [number for number in numbers if number >= len(table.names)]
    return table.found + (f", and it has no number {min(beyond)}" if beyond else "")


def _wanted(trace: str, candidates: Iterable[OpTable], numbers: Mapping[int, int], wanted: str) -> OpTable:
    table = next((table for table in candidates if table.key == wanted), None)
    if table is None:
        raise SettingsError(f"--op-table: {wanted!r} is not a known table of operations; choose {', '.join(TABLES)}")
    beyond = [number for number in numbers if number >= len(table.names)]
    if beyond:
        raise TraceFormatError(
            f"{trace}: record at byte {numbers[min(beyond)]}: expected an operation below {len(table.names)}, as the "
            f"table {wanted} has no more, found {min(beyond)}"
        )
    return table
