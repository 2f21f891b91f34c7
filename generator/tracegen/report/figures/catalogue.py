"""Every figure, table and explorer in their order on pages; notebook, reference page and downloads read this list."""

import re
from collections.abc import Mapping

from tracegen.contract import needs
from tracegen.contract.needs import Need
from tracegen.report.figures.access_ledger import ACCESS_BLOCKS, ACCESS_LEDGER
from tracegen.report.figures.access_order import ACCESS_ORDER, ACCESS_PATH, ACCESS_READS
from tracegen.report.figures.allocations import ALLOCATION_CALLS, ALLOCATIONS
from tracegen.report.figures.bandwidth import BANDWIDTH
from tracegen.report.figures.buffers import BUFFER_PEAKS, BUFFERS, KV_CACHE
from tracegen.report.figures.caches import CACHE_RATES, CACHE_SIZES, REUSE, WORKING_SET
from tracegen.report.figures.device_memory import DEVICE_MEMORY
from tracegen.report.figures.device_ops import DEVICE_OPS
from tracegen.report.figures.disk import DISK
from tracegen.report.figures.disk_reads import DISK_DEVICE, DISK_READ_SIZES, DISK_REQUESTS, DISK_SIZES
from tracegen.report.figures.disk_waits import DISK_EXPERTS, DISK_MAP, DISK_SPLIT, DISK_TENSORS
from tracegen.report.figures.downloads import DOWNLOADS
from tracegen.report.figures.expert_cache import EXPERT_CACHE
from tracegen.report.figures.expert_chance import EXPERTS_NEXT, EXPERTS_STICKY
from tracegen.report.figures.expert_choices import EXPERTS, EXPERTS_OF_TOKENS, EXPERTS_TOKENS, EXPERTS_USED
from tracegen.report.figures.expert_policies import EXPERT_POLICIES
from tracegen.report.figures.expert_shares import EXPERTS_BALANCE, EXPERTS_COVER, EXPERTS_LOAD
from tracegen.report.figures.expert_weights import EXPERTS_WEIGHTS
from tracegen.report.figures.explicit_reads import EXPLICIT_READS, FIRST_USES
from tracegen.report.figures.explorers import CHECKS, GRAPH, GRAPH_BLOCK, LAYER, OPERATIONS, THREADS, TOKEN
from tracegen.report.figures.figure import Explorer, Figure, Part, Table
from tracegen.report.figures.file_tokens import FILE_TOKENS
from tracegen.report.figures.footprint import FOOTPRINT
from tracegen.report.figures.generated_tokens import GENERATED_TOKENS
from tracegen.report.figures.heatmap import HEATMAP
from tracegen.report.figures.hot import CONCENTRATION, HOT_EXPERTS
from tracegen.report.figures.kv_layers import KV_LAYERS
from tracegen.report.figures.memory_speed import MEMORY_SPEED
from tracegen.report.figures.model_files import MODEL_FILES
from tracegen.report.figures.numa import NUMA
from tracegen.report.figures.pin_list import PIN_LIST
from tracegen.report.figures.residency import RESIDENCY, RESIDENT_GROUPS
from tracegen.report.figures.served import PROMPT_SLOTS, PROMPTS
from tracegen.report.figures.speculation import SPECULATION
from tracegen.report.figures.tensors import BIGGEST_TENSORS, NEVER_TOUCHED, TENSOR_GROUPS
from tracegen.report.figures.timeline import TIMELINE
from tracegen.report.figures.times import COMPONENTS, LAYERS, OP_KINDS, TOKENS
from tracegen.report.figures.top_operations import TOP_OPERATIONS
from tracegen.report.figures.waiting import WAITING_KINDS, WAITING_NODES
from tracegen.report.figures.what_if import WHAT_IF_ORDERS

FIGURES: tuple[Figure | Table | Explorer, ...] = (
    FILE_TOKENS,
    DISK_SPLIT,
    COMPONENTS,
    LAYERS,
    OP_KINDS,
    TOKENS,
    TOP_OPERATIONS,
    PROMPTS,
    SPECULATION,
    BANDWIDTH,
    DEVICE_OPS,
    DISK,
    HEATMAP,
    RESIDENCY,
    RESIDENT_GROUPS,
    TENSOR_GROUPS,
    BIGGEST_TENSORS,
    NEVER_TOUCHED,
    BUFFERS,
    FOOTPRINT,
    KV_CACHE,
    BUFFER_PEAKS,
    KV_LAYERS,
    NUMA,
    ALLOCATIONS,
    ALLOCATION_CALLS,
    ACCESS_PATH,
    ACCESS_ORDER,
    ACCESS_READS,
    WHAT_IF_ORDERS,
    ACCESS_BLOCKS,
    ACCESS_LEDGER,
    CACHE_RATES,
    CACHE_SIZES,
    WORKING_SET,
    REUSE,
    CONCENTRATION,
    HOT_EXPERTS,
    DEVICE_MEMORY,
    EXPLICIT_READS,
    FIRST_USES,
    DISK_DEVICE,
    DISK_REQUESTS,
    DISK_SIZES,
    DISK_READ_SIZES,
    DISK_MAP,
    DISK_TENSORS,
    PIN_LIST,
    MEMORY_SPEED,
    DISK_EXPERTS,
    TOKEN,
    OPERATIONS,
    GRAPH,
    GRAPH_BLOCK,
    TIMELINE,
    THREADS,
    PROMPT_SLOTS,
    WAITING_KINDS,
    WAITING_NODES,
    EXPERTS,
    EXPERTS_TOKENS,
    LAYER,
    EXPERTS_OF_TOKENS,
    EXPERTS_LOAD,
    EXPERTS_COVER,
    EXPERTS_BALANCE,
    EXPERTS_STICKY,
    EXPERTS_NEXT,
    EXPERTS_USED,
    EXPERTS_WEIGHTS,
    EXPERT_CACHE,
    EXPERT_POLICIES,
    MODEL_FILES,
    GENERATED_TOKENS,
    CHECKS,
    DOWNLOADS,
)
CHARTS: Mapping[str, Figure] = {part.key: part for part in FIGURES if isinstance(part, Figure)}
_BY_KEY: Mapping[str, Part] = {part.key: part for part in FIGURES}

# Key of a key figure, figure, table or explorer -> the checks that it needs.
NEEDS: Mapping[str, tuple[Need, ...]] = {
    **needs.KEY_FIGURES,
    **{part.key: part.needs for part in FIGURES if part.needs},
}


def part_of(key: str) -> Part | None:
    """The figure, table or explorer with this key, None if unknown; graph-3 and graph-3-block-1 lose their numbers."""
    return _BY_KEY.get(re.sub(r"^graph-\d+(-block)?(-\d+)?$", r"graph\1", key))


def of_page(page: str) -> tuple[Figure | Table, ...]:
    """The figures and tables of a page, in their order."""
    return tuple(part for part in FIGURES if part.page == page and isinstance(part, (Figure, Table)))


def checks_of(key: str) -> tuple[str, ...]:
    """The keys of all checks that a figure needs."""
    return tuple(dict.fromkeys(check for need in NEEDS[key] for check in (*need.checks, *need.warned)))


def figures_of(check: str) -> tuple[str, ...]:
    """The figures that are not shown when a check failed."""
    return tuple(key for key in NEEDS if check in checks_of(key))


def why(check: str) -> str:
    """Why figures that need a check are false if it failed; empty when no figure needs it."""
    return next((need.why for of in NEEDS.values() for need in of if check in (*need.checks, *need.warned)), "")


def noted_in(check: str) -> tuple[str, ...]:
    """The figures whose captions say that a check warned."""
    of = {key.value: concerned for key, concerned in needs.NOTED_IN_CAPTIONS.items()}.get(check, ())
    return tuple(key for key, needed in NEEDS.items() if any(need in needed for need in of))
