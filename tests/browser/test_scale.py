"""The strip of the timeline at the scale of a real run, which has many passes."""

from typing import Any

import pytest

from tests.browser.conftest import drawn
from tracegen.contract import quantities as q
from tracegen.storing.resources import folder

pytestmark = pytest.mark.browser

N_PASSES = 200_000  # an argument list holds some 125,000
LONGEST = 90 * 60 * 10**9


def test_the_strip_of_a_run_of_many_passes(page: Any) -> None:
    page.set_content("<div style='width: 800px'><canvas></canvas></div><p></p>")
    scripts = folder("templates") / "assets" / "scripts"
    names = ("base", "canvas", "timeline_strip")
    page.add_script_tag(content="\n".join((scripts / f"{name}.js").read_text(encoding="utf-8") for name in names))
    page.evaluate(
        """([n, longest]) => {
          const list = [];
          for (let i = 0; i < n; i += 1) {
            list.push({ id: i, label: "token " + i, kind: i ? "generate" : "prompt", outside: false,
                        ns: i === n - 7 ? longest : 1000 + i % 997, chunk: "0" });
          }
          window.chosen = [];
          const canvas = document.querySelector("canvas"), state = { passes: list, parts: [], colours: {} };
          const tell = stripPicture(canvas, state, document.querySelector("p"), id => window.chosen.push(id));
          tell(n - 1);
        }""",
        [N_PASSES, LONGEST],
    )
    text = page.locator("p").text_content()
    assert text.startswith(f"Pass {N_PASSES - 1}, token {N_PASSES - 1} (generate): {q.duration(1000 + 199_999 % 997)}.")
    assert f"one bar per pass, {N_PASSES} passes in all; full height is {q.duration(LONGEST)}" in text
    drawn(page)
    box = page.locator("canvas").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 0.5, box["y"] + 20)
    (chosen,) = page.evaluate("window.chosen")
    assert N_PASSES * 0.998 < chosen < N_PASSES
    alpha = "canvas => canvas.getContext('2d').getImageData(400, 94, 1, 1).data[3]"
    assert page.locator("canvas").evaluate(alpha) > 0
