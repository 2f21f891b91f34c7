"""Explanations of memory: the model file, its tensors and experts, the buffers of the runtime."""

from __future__ import annotations

from tracegen.figures.explanation import Explanation

TOUCHED = (
    "Touched is what an operation uses of a tensor by its shapes, and where it selects rows or experts only those; "
    "not what the processor’s caches or the kernel’s pages did."
)
MEASURED = "All measured passes: load and warm-up are left out."
USE = "from tracegen.analysis import coverage\nuse = coverage.measured_use(run.tables)\n"

MEMORY = (
    Explanation(
        "heatmap",
        f"Touched bytes of the model file by stretch and by pass. {TOUCHED} A byte that two operations use "
        "counts twice.",
        "Every pass that evaluates a graph; warm-up stands apart and is in no statistic. Loading runs no operation "
        "and is not drawn. Generate passes share rows when they are many: a row is then their mean.",
        "From left to right the file, from top to bottom the passes. A column that is dark in every row is read for "
        "every token; a scattered one holds experts or rows that only some tokens choose; an empty one is not used. "
        "Solid was read through the mapping, hatched from a copy in memory.",
        """
from tracegen.analysis import heatmap
data = heatmap.file_cells(run.tables, n_bins=$n_bins)
""",
    ),
    Explanation(
        "residency",
        "The share of the file’s pages that the kernel had in memory (mincore) when a load or pass had ended.",
        "Loads and passes that ended. What llama.cpp unmaps after the load, the head of the file, was not looked at.",
        "From left to right the file, from top to bottom the run. Rows that grow darker show a file that is read "
        "into memory; cells that grow paler show pages that the kernel gave up.",
        """
from tracegen.analysis import residency
data = residency.resident_cells(run.tables, page_bytes=$page_bytes, n_bins=$n_bins)
""",
        when="a run that recorded which pages were in memory (residency = true)",
    ),
    Explanation(
        "tensor-groups",
        f"Bytes of the tensors of each component group, and how many of them were used at least once. {TOUCHED}",
        f"{MEASURED} Each byte counts once, however often it was used.",
        "A share below 100 % is what no token needed: rows of the embedding, experts, or whole tensors.",
        "from tracegen.charts import theme\n" + USE + "data = coverage.group_use(use, theme.GROUP_OF)",
    ),
    Explanation(
        "biggest-tensors",
        f"Every tensor with its place in its file, and the share of its bytes that was used. {TOUCHED}",
        f"{MEASURED} The page lists 15; the CSV has all.",
        "Memory says through what it was used: disk is the mapping of the file, copied is a copy made at load.",
        USE + 'data = use.sort_values(["size_bytes", "tensor"], ascending=[False, True])',
    ),
    Explanation(
        "never-touched",
        "Tensors of the file of which no operation used a byte.",
        MEASURED,
        "Expect small tables that llama.cpp reads at load, and in a mixture of experts the experts nobody chose only "
        "where each is a tensor of its own.",
        USE
        + 'use = use[use["n_passes"] == 0]\ndata = use.sort_values(["size_bytes", "tensor"], ascending=[False, True])',
    ),
    Explanation(
        "buffers",
        "Bytes allocated by the runtime and not yet freed, by what the buffer holds.",
        "All allocations and frees from the begin of the trace, load and warm-up included. Views of the mapped file "
        "take no memory of their own and are left out.",
        "A step up is an allocation, a step down a free. What is touched in a buffer is another question: see the "
        "right part of the heatmap.",
        """
from tracegen.analysis import buffers
level = buffers.occupancy(run.tables)
begin = min([*level["time_ns"].head(1), *run.passes["begin_ns"].head(1)])
data = level.assign(time_ns=level["time_ns"] - begin)
""",
    ),
    Explanation(
        "buffer-peaks",
        "The most bytes that the buffers of a group held at one time, and how often one was allocated.",
        "All allocations and frees of the run, load and warm-up included.",
        "Peaks of different groups need not be at the same time: their sum may be more than the run ever held.",
        "from tracegen.analysis import buffers\ndata = buffers.peaks(run.tables)",
    ),
)
