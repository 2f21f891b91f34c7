"""The hooks fit every pinned release of llama.cpp; minutes each, so only with TRACEGEN_RELEASES=1."""

import os
from pathlib import Path

import pytest

from tests.llama_matrix import try_release
from tracegen.storing.native import Upstream, read_releases
from tracegen.storing.progress import Progress
from tracegen.storing.resources import folder

pytestmark = [
    pytest.mark.native,
    pytest.mark.llama,
    pytest.mark.skipif(os.environ.get("TRACEGEN_RELEASES") != "1", reason="TRACEGEN_RELEASES=1 tries every release"),
]


@pytest.mark.parametrize("upstream", read_releases(folder("native")), ids=lambda upstream: upstream.version)
def test_the_hooks_fit(upstream: Upstream, tmp_path: Path) -> None:
    row = try_release(upstream, tmp_path, Progress())
    assert row.fits, row
