"""How much of the weights tokens touch: a token, all of them together, and what lies in copies."""

from collections.abc import Iterator

from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures.context import Context
from tracegen.report.figures.heatmap import HEATMAP
from tracegen.report.figures.tensors import TENSOR_GROUPS
from tracegen.report.findings.finding import Finding


def findings(context: Context) -> Iterator[Finding]:
    """What the median token touches of the file, what no pass touches, and how much of it lies in copies."""
    s = context.summary
    tokens = q.counted(s.n_generate_passes, "token")
    if s.weight_token_bytes and s.file_bytes and not context.refusal(needs.BYTES):
        share = min(s.weight_token_bytes / s.file_bytes, 1.0)
        yield Finding(
            kind="bytes",
            measure="Weights that a token touches",
            amount=Amount(s.weight_token_bytes, "bytes"),
            more=(Amount(share, "share", "of the file"),),
            scope="generation",
            population=f"median of {tokens}",
            effect=share,
            part=TENSOR_GROUPS,
        )
    touched, weights = s.touched_weight_bytes, s.weight_bytes
    if touched is not None and weights and not context.refusal(needs.FILE_USE) and len(context.measured):
        unused = weights - touched
        yield Finding(
            kind="bytes",
            measure="Weights that no pass touches",
            amount=Amount(unused, "bytes"),
            more=(Amount(unused / weights, "share", "of the weights"),),
            scope="measured passes",
            population=q.counted(len(context.measured), "pass"),
            effect=unused / weights,
            part=TENSOR_GROUPS,
        )
    mapped, copied = s.generate_token_bytes["disk"], s.generate_token_bytes["copied"]
    if mapped and copied and not context.refusal(needs.BYTES):
        share = copied / (mapped + copied)
        yield Finding(
            kind="bytes",
            measure="Weights in copies made at load",
            amount=Amount(copied, "bytes", "a token"),
            more=(Amount(mapped, "bytes", "in the mapped file"),),
            scope="generation",
            population=tokens,
            effect=share,
            part=HEATMAP,
        )
