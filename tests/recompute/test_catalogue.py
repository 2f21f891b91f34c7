"""No figure without a second count: each one of the catalogue is compared in test_pages.py, or says why not here."""

import re
from pathlib import Path

from tracegen.report.figures.catalogue import FIGURES
from tracegen.report.figures.figure import Explorer

COMPARED = set(re.findall(r'published\.csv\("([\w-]+)"\)', Path(__file__).with_name("test_pages.py").read_text()))
SAME_DATA = {  # key: the one whose data are the same
    "biggest-tensors": "tensors-use",
    "experts-tokens": "experts-of-tokens",
}
NOT_COUNTED = {
    "file-tokens": "a picture: tests/analysis/test_file_tokens.py counts its parts, rows, shares and times by itself",
    "disk": "settings and counters, a row each; its sums are key figures",
    "residency": "of runs that looked: tests/analysis/test_residency.py counts its pages one by one",
    "resident-groups": "the same: tests/analysis/test_residency.py",
    "disk-split": "of runs with page faults: tests/analysis/test_attribution.py adds up each span by itself",
    "disk-device": "the kernel's counters: tests/analysis/test_device.py divides them by itself",
    "disk-map": "the same: it puts each fault into its stretch of the file by itself",
    "disk-tensors": "the same: it looks for the tensor of each fault by itself",
    "disk-experts": "the same: it looks for the part of the tensor by itself",
    "disk-requests": "of runs with requests: tests/analysis/test_requests.py counts each page and nanosecond",
    "disk-sizes": "the same",
    "disk-read-sizes": "the same",
    "access-ledger": "of runs that looked for pages in memory: tests/analysis/test_ledger.py looks at each byte",
    "experts-next": "of runs with 100 tokens: tests/analysis/test_expert_next.py learns and scores by itself",
    "hot-experts": "of runs with 200 tokens: tests/analysis/test_hot_set.py learns and scores by itself",
    "explicit-reads": "of runs that read the file themselves: tests/analysis/test_explicit_reads.py marks each byte",
    "first-uses": "of such runs, too: tests/analysis/test_first_use.py looks through all operations",
    "footprint": "of runs whose memory was sampled: tests/analysis/test_footprint.py adds up each sample by itself",
    "expert-cache": "tests/analysis/test_expert_cache.py plays llama.cpp's rule with lists",
    "expert-policies": "of runs with 100 tokens: tests/analysis/test_expert_policies.py plays each rule in loops",
    "kv-layers": "shapes of tensors: tests/analysis/test_kv_cache.py, and what llama.cpp asks for in test_failures.py",
    "allocations": "of runs that counted them: tests/analysis/test_allocations.py adds up each block by itself",
    "allocation-calls": "the same",
    "numa": "of machines with several nodes: tests/analysis/test_nodes.py looks at each page",
    "prompts": "of runs with several prompts: tests/analysis/test_served.py plays a server; make server asks one",
    "prompt-slots": "the same",
    "speculation": "of runs with drafts: tests/analysis/test_speculation.py makes rounds, test_exec.py asks llama.cpp",
    "device-memory": "tests/analysis/test_device_place.py tries every pair of options by itself",
    "device-ops": "of runs with times of a device: tests/integration/test_vulkan.py, beside the backend's own",
    "memory-speed": "a prediction, as good as what was measured: tests/analysis/test_remedies.py",
    "pin-list": "of runs with page faults: tests/analysis/test_pin_list.py adds up each row by itself",
    "bandwidth": "tests/analysis/test_bandwidth.py adds up bytes and times of each operation by itself",
    "downloads": "the stored tables themselves",
}


def test_each_figure_is_counted_a_second_time() -> None:
    keys = {part.key for part in FIGURES if not isinstance(part, Explorer)}
    covered = {key for key in keys if SAME_DATA.get(key, key) in COMPARED} | set(NOT_COUNTED)
    assert keys - covered == set(), "work them out in tests/recompute/plain, and compare in test_pages.py"
    assert set(SAME_DATA) | set(NOT_COUNTED) <= keys
