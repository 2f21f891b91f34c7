// What explorers show and how it moves: stretches of an axis, what is next to what, and its words.
import assert from "node:assert/strict";
import {test} from "node:test";

import {dice, load, plain} from "./load.mjs";

const page = load();

function shown(from, to, total) {
  return { look: { from, to }, layout: { total, lanes: [] }, mark: null, view: "tokens" };
}

test("whatever is done, the memory explorer looks at a part of its axis", () => {
  const roll = dice(11), now = shown(0, 1000, 1000), look = now.look;
  for (let round = 0; round < 2000; round += 1) {
    const middle = look.from + (look.to - look.from) * (roll(101) / 100);
    if (roll(2)) {
      page.memoryZoom(now, 2 ** (roll(9) - 4), roll(2) ? middle : undefined);
    } else {
      page.memoryPan(now, roll(7) - 3);
    }
    assert.ok(look.from >= 0 && look.to <= 1000 * (1 + 1e-12) && look.to > look.from, JSON.stringify(look));
  }
});

test("what is zoomed at stays where it is, as far as the axis reaches", () => {
  const now = shown(400, 600, 1000);
  page.memoryZoom(now, 0.5, 450);
  assert.deepEqual(plain(now.look), { from: 425, to: 525 });
  page.memoryZoom(now, 100, 450);
  assert.deepEqual(plain(now.look), { from: 0, to: 1000 });
  page.memoryZoom(now, 1e-9);
  assert.ok(Math.abs(now.look.to - now.look.from - 1e-4) < 1e-9);
});

test("a block that is fitted is seen whole, with room around it", () => {
  const now = {...shown(0, 1000, 1000), mark: { block: { from: 10, size: 200 } } };
  page.memoryFit(now);
  assert.deepEqual(plain(now.look), { from: 0, to: 300 });
  now.mark.block.from = 500;
  page.memoryFit(now);
  assert.deepEqual(plain(now.look), { from: 450, to: 750 });
});

function laned() {
  const piece = (name) => ({ name }), [a, b, c] = ["a", "b", "c"].map(piece), one = {};
  const lanes = [
    { blocks: [{ piece: b, from: 50, size: 20, sums: one }, { piece: a, from: 0, size: 10, one }] },
    { blocks: [{ piece: c, from: 90, size: 10, sums: null }, { piece: b, from: 50, size: 20, sums: one }] },
  ];
  const drawn = { x: (at) => at };
  return {
    now: { look: { from: 0, to: 100 }, layout: { total: 100, lanes }, mark: null, view: "layers", drawn },
    a,
    b,
    c
  };
}

test("a piece is found in the lane where it was, else in the first that has it", () => {
  const { now, a, b, c } = laned(), at = (piece, lane) => {
    const found = page.memoryFind(now, piece, lane);
    return found && found.lane;
  };
  assert.deepEqual([at(b, 1), at(b, 0), at(a, 1), at(c, 0), at(b, 9), at({}, 0), at(null, 0)],
    [1, 0, 0, 1, 0, null, null]);
});

test("blocks follow each other as they lie, whatever their order", () => {
  const { now, a, b } = laned(), step = (by) => page.memoryBeside(now, 0, by).piece;
  assert.deepEqual([step(1), step(-1)], [a, b]); // from outside: the first, the last
  now.mark = { lane: 0, block: now.layout.lanes[0].blocks[1], piece: a };
  assert.deepEqual([step(1), step(-1)], [b, a]);
});

test("in another lane the nearest block is taken", () => {
  const { now, a, c } = laned();
  now.mark = { lane: 1, block: now.layout.lanes[1].blocks[0], piece: c };
  assert.equal(page.memoryNearest(now, 0).from, 50);
  now.mark = { lane: 0, block: now.layout.lanes[0].blocks[1], piece: a };
  assert.equal(page.memoryNearest(now, 1).from, 50);
});

test("the smallest block under the pointer is told, unused ones only where lanes are layers", () => {
  const { now } = laned(), at = (px) => {
    const block = page.memoryUnder(now, 1, px);
    return block && block.from;
  };
  now.layout.lanes[1].blocks.push({ piece: null, from: 55, size: 2, sums: {} });
  assert.deepEqual([at(51), at(56), at(95), at(30)], [50, 55, 90, null]);
  now.view = "tokens";
  assert.equal(at(95), null);
});

test("groups and layers on the ruler are one over small gaps, and part at large ones", () => {
  const piece = (i, component, layer, size) => ({ i, component, layer, size });
  const sorted = [piece(0, "q", 0, 100), piece(1, "k", 0, 100), piece(2, "norm", 1, 100), piece(3, "q", 1, 100)];
  const made = plain(page.memoryRuler({ sorted, at: [0, 132, 300, 9000] }, { q: "attention", k: "attention" }));
  assert.deepEqual(made.bands.map((one) => [one.name, one.from, one.to]),
    [["attention", 0, 232], ["other", 300, 400], ["attention", 9000, 9100]]);
  assert.deepEqual(made.layers.map((one) => [one.layer, one.from, one.to]),
    [[0, 0, 232], [1, 300, 400], [1, 9000, 9100]]);
});

test("a tensor is named by its whole name before any that holds the text", () => {
  const tensors = { 3: ["blk.0.attn_q"], 4: ["attn"], 7: ["output"] };
  assert.deepEqual(["attn", "attn_", "OUT".toLowerCase(), "x"].map((text) => page.memoryNamed(tensors, text)),
    ["4", "3", "7", undefined]);
});

test("times that are not known are said so; others are means", () => {
  assert.deepEqual(
    [
      page.memoryValue("work_ns", null, 2), page.memoryValue("work_ns", 3000, 2), page.memoryValue("n_uses", 3, 2),
      page.memoryValue("touched_bytes", 4096, 2)
    ],
    ["not recorded", "1.50 µs", "1.50", "2.00 KiB"]);
});

// Two threads: [begin, work, barrier, wait] of each span.
function timed() {
  const spans = [[[10, 5, 1, 4], [30, 10, 0, 0], [60, 5, 0, 35]], [[12, 3, 0, 0], [33, 7, 0, 0]]];
  const lanes = spans.map((lane, thread) => {
    const column = (k) => lane.map((span) => span[k]);
    return {
      thread,
      node: lane.map((_, i) => 7 + i),
      begin: column(0),
      work: column(1),
      barrier: column(2),
      wait: column(3)
    };
  });
  const view = page.timelineView(() => ({ 7: { op: "MUL", name: "x", layer: null, component: "norm" } }));
  view.lanes = lanes;
  page.timelineWhole(view);
  return view;
}
const seen = (view) => [view.from, view.to];

test("a timeline begins with all of its pass, nothing chosen", () => {
  const view = timed();
  assert.deepEqual([seen(view), view.whole, view.chosen, view.pointed], [[0, 100], 100, null, null]);
  assert.equal(view.about(99).op, "not recorded");
});

test("whatever is done, a timeline looks at a part of its pass", () => {
  const roll = dice(13), view = timed();
  for (let round = 0; round < 2000; round += 1) {
    view.chosen = roll(2) ? null : { lane: 0, i: roll(3) };
    if (roll(2)) {
      page.timelineZoom(view, 2 ** (roll(7) - 3), roll(2) ? roll(100) : undefined);
    } else {
      page.timelineLook(view, roll(200) - 50, roll(200));
    }
    if (view.chosen && roll(2)) { [page.timelineFit, page.timelineReveal][roll(2)](view); }
    assert.ok(view.from >= 0 && view.to <= 100 + 1e-9 && view.to - view.from >= 20 - 1e-9, String(seen(view)));
  }
});

test("what is chosen comes into view where it is not", () => {
  const view = timed();
  page.timelineLook(view, 0, 24);
  view.chosen = { lane: 0, i: 0 };
  page.timelineReveal(view);
  assert.deepEqual(seen(view), [0, 24]);
  view.chosen = { lane: 1, i: 1 };
  page.timelineReveal(view);
  assert.deepEqual(seen(view), [25, 49]);
});

test("along a thread the next span is chosen, from outside the first that is seen", () => {
  const view = timed(), to = (by) => plain(page.timelineAlong(view, by));
  page.timelineLook(view, 20, 70);
  assert.deepEqual([to(1), to(-1)], [{ lane: 0, i: 1 }, { lane: 0, i: 2 }]);
  view.chosen = { lane: 0, i: 2 };
  assert.deepEqual([to(1), to(-1)], [null, { lane: 0, i: 1 }]);
});

test("across threads the span of the same time is chosen", () => {
  const view = timed(), to = (by) => plain(page.timelineAcross(view, by));
  view.chosen = { lane: 0, i: 2 };
  assert.deepEqual([to(1), to(-1)], [{ lane: 1, i: 1 }, null]);
  assert.deepEqual([plain(page.timelineFind(view, 9)), page.timelineFind(view, 1)], [{ lane: 0, i: 2 }, null]);
});

test("a bar of the strip stands for one pass, or for all that share a pixel", () => {
  assert.deepEqual(plain(page.stripBars(3, 300)), [[0, 0], [1, 1], [2, 2]]);
  for (const [n, width] of [[1000, 300], [301, 300], [125000, 777]]) {
    const bars = plain(page.stripBars(n, width));
    assert.ok(bars.length <= width + 1);
    assert.deepEqual([bars[0][0], bars.at(-1)[1]], [0, n - 1]);
    bars.slice(1).forEach(([first], i) => assert.equal(first, bars[i][1] + 1));
    const columns = new Set(Array.from({ length: n }, (_, i) => Math.floor((i + 1) * width / n)));
    assert.equal(bars.length, columns.size);
  }
  const list = [{ ns: 3 }, { ns: null }, { ns: 9 }, { ns: 9, late: true }];
  assert.deepEqual([page.stripWorst(list, 0, 3), page.stripWorst(list, 1, 1)], [list[2], list[1]]);
});

test("a token is named with its experts, in their order", () => {
  const data = {
    experts: [[3, 1], [1, 0], [2, 0]],
    token: [null, 0, 1],
    gives: [0, 1, null],
    pass: [2, 3, 4],
    by_weight: true
  };
  const words = (at, several) => page.expertWords({ data, n: 4, rows: 3, at }, several);
  assert.equal(words(null, 1), "3 tokens, 4 experts.");
  assert.equal(words(null, 2), "3 tokens, 4 experts, 2 tokens per line.");
  assert.equal(words({ token: 0, expert: 1 }, 1),
    "token 0 (pass 2) chose 3, 1, the strongest first. Expert 1 is chosen by 2 of 3 tokens in this layer.");
  assert.match(words({ token: 1, expert: 9 }, 1), /^token 1 \(pass 3\) chose 1, 0, .* chosen by 0 of 3 tokens/);
  data.by_weight = false;
  assert.match(words({ token: 2, expert: 0 }, 1), /^pass 4 chose 2, 0, in llama.cpp’s order\./);
});

test("one token and one expert have words of their own", () => {
  const data = { experts: [[2]], token: [5], gives: [6], pass: [9], by_weight: true };
  const view = { data, n: 4, rows: 1, at: { token: 0, expert: 2 } };
  assert.equal(page.expertWords(view, 1),
    "token 6 (pass 9) chose 2. Expert 2 is chosen by 1 of 1 token in this layer.");
});

test("keys stay on the grid of experts", () => {
  const data = { experts: [[3, 1], [1, 0], [2, 0]] },
        beside = (at, by, several) => plain(page.expertBeside({ data, n: 4, at }, by, several));
  assert.deepEqual(beside(null, [1, 0], 1), { token: 0, expert: 3 });
  assert.deepEqual(beside({ token: 2, expert: 3 }, [1, 0], 1), { token: 2, expert: 3 });
  assert.deepEqual(beside({ token: 0, expert: 3 }, [0, 1], 1), { token: 0, expert: 3 });
  assert.deepEqual(beside({ token: 0, expert: 1 }, [1, 0], 2), { token: 2, expert: 1 });
});
