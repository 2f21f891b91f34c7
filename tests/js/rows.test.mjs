// The ops of a pass, put together from a chunk and what its passes share; spans of a thread and columns of pixels.
import assert from "node:assert/strict";
import {test} from "node:test";

import {dice, expected, gaps, load, pack, plain} from "./load.mjs";

const STATIC = {
  static: 4,
  nodes: [
    [10, "GET_ROWS", "embd", null, "embedding"], [11, "MUL_MAT", "q-0", 0, "attention_q"],
    [12, "ADD", "sum-0", 0, "other"]
  ],
  note: ["", "", "fused"],
  disk: [512, 4096, 0],
  copied: [0, 0, null],
  buffer: [64, 64, 128],
  threads: [1, 2, 1],
  operands: { 10: [["dst"], ["src0"]], 11: [["src1"]], 12: [["src0"]] },
  selects: [[10, "src0", "row", 256], [11, "src1", "expert", null], [12, "src0", "row", 8]],
};

function pass(id, more) {
  const times = {
    begin: pack([100, null, 50]),
    duration: pack([7, null, 9]),
    work: pack([5, null, 9]),
    barrier: pack([1, null, 0]),
    wait: pack([1, null, 0])
  };
  return { id, units: pack([0, 0, 0]), ...times, ...more };
}

test("a pass is put together when its chunk and what it shares have come", () => {
  const page = load();
  page.tracegenChunk([pass(3, { node: [10, 11, 12] }), pass(4, {})]);
  assert.equal(page.passOf(3, 4), null);
  page.tracegenStatic(structuredClone(STATIC));
  assert.equal(page.passOf(5, 4), null);
  const made = page.passOf(4, 4); // its nodes are those of the pass before it
  assert.deepEqual(plain(made.node), [10, 11, 12]);
  assert.deepEqual(plain(made.begin), [100, null, 150]);
  assert.deepEqual(plain(made.work), [5, null, 9]);
  assert.equal(page.passOf(4, 4), made);
});

test("a steady column is the shared one but where the pass tells another", () => {
  const page = load();
  page.tracegenStatic(structuredClone(STATIC));
  page.tracegenChunk([pass(0, { node: [10, 11, 12, 99], disk: pack([1, 8192, 2, null]), copied: pack([2, 77]) })]);
  const made = page.passOf(0, 4);
  assert.deepEqual(plain(made.disk), [512, 8192, 0, null]);
  assert.deepEqual(plain(made.copied), [0, 0, 77, null]);
  assert.deepEqual(plain(made.buffer), [64, 64, 128, null]);
});

test("what did not run accessed nothing", () => {
  const page = load();
  page.tracegenStatic(structuredClone(STATIC));
  page.tracegenChunk([pass(0, { node: [10, 11, 12], note: { 1: "off" } })]);
  const made = page.passOf(0, 4);
  assert.deepEqual(plain(made.note), ["", "off", "fused"]);
  assert.deepEqual([10, 11, 12, 13].map((node) => page.operandsOf(made, node).length), [2, 0, 1, 0]);
});

test("units that were used are runs, with bytes where their size is known", () => {
  const page = load();
  page.tracegenStatic(structuredClone(STATIC));
  // Runs as gaps: two of the first operand (2 to 4 and 7), one of the second, none of the third.
  page.tracegenChunk([pass(0, { node: [10, 11, 12], units: pack([2, 2, 2, 2, 0, 1, 5, 0, 0]) })]);
  const used = plain(page.passOf(0, 4).units);
  assert.deepEqual(used, {
    "10.src0": { unit: "row", runs: [[2, 3], [7, 1]], size: 256, bytes: 1024 },
    "11.src1": { unit: "expert", runs: [[5, 1]], size: null, bytes: null },
  });
});

test("units are worded as the pages word them", () => {
  const page = load();
  for (const [runs, text] of expected.units) { assert.equal(page.unitText({ unit: "expert", runs }), text); }
});

function lane(spans) {
  const column = (name) => spans.map((span) => span[name]);
  return {
    begin: column("begin"),
    work: column("work"),
    barrier: column("barrier"),
    wait: column("wait"),
    kind: column("kind")
  };
}

test("the span at a time is the last that began by then", () => {
  const page = load(), roll = dice(1);
  for (let round = 0; round < 50; round += 1) {
    const begin = [];
    for (let at = roll(5); begin.length < round; at += 1 + roll(9)) { begin.push(at); }
    for (let time = -1; time < (begin.at(-1) ?? 0) + 3; time += 1) {
      assert.equal(page.spanAt({ begin }, time), begin.filter((one) => one <= time).length - 1);
    }
  }
});

test("threads of a pass are unpacked, their begins from gaps", () => {
  const page = load(), begin = [3, 10, 42];
  page.tracegenSpans([{
    id: 7,
    threads: [{
      thread: 1,
      node: pack([0, 1, 2]),
      begin: pack(gaps(begin)),
      work: pack([5, 6, 7]),
      barrier: pack([0, 1, 0]),
      wait: pack([1, 0, 2])
    }]
  }]);
  const [made] = page.lanesOf(7);
  assert.deepEqual(plain(made.begin), begin);
  assert.deepEqual([0, 1, 2].map((i) => page.spanEnd(made, i)), [9, 17, 51]);
});

test("a column of pixels shows what took most of it, counted nanosecond by nanosecond", () => {
  const page = load(), roll = dice(7), KINDS = 6, INSIDE = 3, AFTER = 4, DISK = 5;
  for (let round = 0; round < 60; round += 1) {
    const spans = [], painted = [];
    for (let at = roll(4); spans.length < 12;) {
      const span = { begin: at, work: roll(9), barrier: roll(3), wait: roll(3), kind: roll(INSIDE) };
      span.disk = round % 2 ? roll(span.work + 1) : 0;
      const parts = [[span.disk, DISK], [span.work - span.disk, span.kind], [span.barrier, INSIDE], [span.wait, AFTER]];
      for (const [n, kind] of parts) {
        for (let k = 0; k < n; k += 1) {
          painted[at] = kind;
          at += 1;
        }
      }
      spans.push(span);
      at += roll(6);
    }
    const wide = 1 + roll(6), n = 12, from = roll(10), to = from + n * wide; // a column is `wide` whole nanoseconds
    const one = lane(spans);
    one.disk = round % 2 ? spans.map((span) => span.disk) : null;
    const view = { inside: INSIDE, after: AFTER, disk: DISK };
    const found = page.columnKinds(one, from, to, n, KINDS, view);
    for (let c = 0; c < n; c += 1) {
      const counts = Array.from({ length: KINDS }, () => 0);
      let none = 0;
      for (let at = from + c * wide; at < from + (c + 1) * wide; at += 1) {
        if (painted[at] === undefined) {
          none += 1;
        } else {
          counts[painted[at]] += 1;
        }
      }
      const most = Math.max(...counts),
            allowed = counts.flatMap((count, kind) => (count === most && most ? [kind] : []));
      if (none > most || !most) { allowed.splice(0, allowed.length, -1); }
      if (none === most) { allowed.push(-1); }
      assert.ok(allowed.includes(found[c]), `round ${round}, column ${c}: ${found[c]}, not ${allowed}`);
    }
  }
});

test("a text is cut to the room that it has, and says so", () => {
  const page = load(), pen = { measureText: (text) => ({ width: text.length }) };
  assert.deepEqual([9, 8, 4, 1].map((room) => page.shortened(pen, "MUL_MAT_", room)),
    ["MUL_MAT_", "MUL_MAT_", "MUL…", "…"]);
  assert.deepEqual([16, 7, 1].map((room) => page.shortened(pen, "RPC0[host:50061]", room, true)),
    ["RPC0[host:50061]", "50061]".padStart(7, "…"), "…"]);
});
