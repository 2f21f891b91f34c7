"""Vega's script for the pages of a site; other tests find it made (conftest.py)."""

from pathlib import Path

import vl_convert

from tracegen.site import vega


def test_vega_is_the_same_when_it_is_made_again_and_is_kept(tmp_path: Path) -> None:
    bundles = [vl_convert.javascript_bundle(vega._OURS) for _ in range(2)]
    assert bundles[0] == bundles[1] and len(bundles[0]) > 500_000
    script = vega.script(tmp_path)
    assert script.decode() == f"(function () {{\n{bundles[0]}\n}}());\n"
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(b"as it was kept")
    assert vega.script(tmp_path) == b"as it was kept"
