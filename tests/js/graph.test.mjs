// What the graph page knows of its nodes, how they are found, and where blocks stand in the whole graph.
import assert from "node:assert/strict";
import {test} from "node:test";

import {load, plain} from "./load.mjs";

const page = load({ document: { getElementById: () => null } });

// Two layers of two nodes that share a drawing, and an end that reads the second: 1 = f(0), 2 = g(1, 100), and so on.
function facts() {
  return {
    key: "k",
    graphs: [0],
    node: [0, 1, 2, 3, 4, 5, 100, 101],
    sources: [[], [0], [1, 100], [2], [3, 101], [4, 4], [], []],
    op: { names: ["GET_ROWS", "MUL", "MUL_MAT", "NONE"], codes: [0, 1, 2, 1, 2, 1, 3, 3] },
    name: ["embd", "norm-0", "q-0", "norm-1", "q-1", "result", "blk.0.attn_q.weight", "blk.1.attn_q.weight"],
    component: { names: ["embedding", "norm", "attention_q"], codes: [0, 1, 2, 1, 2, 1, 2, 2] },
    layer: [null, 0, 0, 1, 1, null, 0, 1],
    kind: [0, 0, 0, 0, 0, 1, 2, 2],
    time: [4, 10, 20, 30, null, null, null, null],
    instances: [
      { block: 0, layer: null, title: "input", nodes: [0] },
      { block: 1, layer: 0, nodes: [1, 2] },
      { block: 1, layer: 1, nodes: [3, 4] },
      { block: 2, layer: null, title: "output", nodes: [5] },
    ],
  };
}
const book = page.graphData(facts());

test("a node knows what it reads and who reads it, each once", () => {
  assert.deepEqual(plain(book.sources(2)), [1, 100]);
  assert.deepEqual([plain(book.readers(4)), plain(book.readers(5)), plain(book.readers(77))], [[5], [], []]);
  assert.deepEqual([book.has(5), book.has(6)], [true, false]);
});

test("a column is read by its codes or as it is", () => {
  assert.deepEqual([book.of("op", 2), book.of("name", 2), book.of("layer", 5)], ["MUL_MAT", "q-0", null]);
  assert.equal(book.label(3), "MUL norm-1");
  assert.deepEqual([0, 5, 100].map((node) => book.kind(node)), ["op", "noop", "leaf"]);
});

test("a node stands in its own block, a tensor in that of its reader", () => {
  assert.deepEqual([0, 4, 100, 101].map((node) => book.home(node)), [0, 2, 1, 2]);
  assert.deepEqual([0, 1, 3].map((i) => book.block(i)), ["input", "layer 0", "output"]);
});

test("twins are the nodes, and the operands, at the same place of another layer", () => {
  assert.deepEqual(plain(book.twins(2)), { 0: 2, 1: 3, 2: 4, 100: 101 });
  assert.deepEqual(plain(book.twins(1)), { 0: 0, 1: 1, 2: 2, 100: 100 });
});

test("a mean counts only what is known", () => {
  assert.deepEqual(plain(book.mean("time", [1, 3])), { value: 20, n: 2 });
  assert.deepEqual(plain(book.mean("time", [2, 4])), { value: 20, n: 1 });
  assert.deepEqual(plain(book.mean("time", [4])), { value: null, n: 0 });
});

function found(query) { return Array.from(page.graphMatches(page.graphEntries([book]), query), (entry) => entry.node); }

test("every word of a search must occur somewhere in a node", () => {
  assert.deepEqual(found("mul_mat attention_q"), [2, 4]);
  assert.deepEqual(found("MUL_MAT norm"), []);
  assert.deepEqual(found("   "), []);
});

test("whole names come first, then beginnings, then the rest", () => {
  assert.deepEqual(found("q-1"), [4]);
  assert.deepEqual(found("norm"), [1, 3, 5]); // two names begin so, one component is called so
  const other = facts();
  other.name[5] = "norm";
  const entries = page.graphEntries([page.graphData(other)]);
  assert.deepEqual(Array.from(page.graphMatches(entries, "norm"), (entry) => entry.node), [5, 1, 3]);
});

test("a layer is found by its number, not by the figures in it", () => {
  const many = facts();
  many.layer[4] = 11;
  const entries = page.graphEntries([page.graphData(many)]);
  const nodes = (query) => Array.from(page.graphMatches(entries, query), (entry) => entry.node);
  assert.deepEqual(nodes("layer 1"), [101, 3]); // its tensor's name begins with the layer
  assert.deepEqual(nodes("blk.11."), [4]);
  assert.deepEqual(nodes("layer 11 mul_mat"), [4]);
});

function planned(n, sizes, room) {
  const instances = Array.from({ length: n }, (_, i) => ({ block: i % sizes.length, nodes: [] }));
  const templates = sizes.map(([width, height]) => ({ width, height, anchor: width / 2 }));
  return { plan: page.graphPlaces({ facts: { instances } }, templates, room), templates, instances };
}

test("blocks of the whole graph do not lie on each other, and lie inside it", () => {
  for (const n of [1, 2, 7, 40]) {
    const { plan, templates, instances } =
      planned(n, [[200, 300], [340, 900], [120, 80]], { width: 1000, height: 700 });
    const boxes = plan.places.map((place, i) => {
      const own = templates[instances[i].block];
      return {
        left: place.x,
        right: place.x + own.width,
        top: place.y - 1.5 * plan.head,
        bottom: place.y + own.height
      };
    });
    boxes.forEach((one, i) => {
      assert.ok(one.left >= 0 && one.right <= plan.width && one.top >= 0 && one.bottom <= plan.height, `${n}: ${i}`);
      boxes.slice(0, i).forEach((other) => {
        assert.ok(one.left >= other.right || one.right <= other.left || one.top >= other.bottom ||
            one.bottom <= other.top,
          `${n}: ${i}`);
      });
    });
  }
});

test("columns fill a frame from left to right, in the order of the graph", () => {
  const { plan } = planned(40, [[200, 300]], { width: 1000, height: 700 });
  const columns = plan.places.map((place) => place.column);
  assert.ok(columns.at(-1) > 1 && plan.gutters.length === columns.at(-1) + 1);
  assert.deepEqual(columns, columns.toSorted((a, b) => a - b));
  plan.places.forEach((place) => assert.ok(place.x + 200 < plan.gutters[place.column]));
});

test("a line between columns runs in the gutters, one between neighbours does not", () => {
  const a = { column: 0 }, far = { column: 2, y: 400 }, near = { column: 0, y: 400 };
  assert.equal(page.graphLine({ x: 10, y: 20 }, { x: 30, y: 300, next: true }, a, near, [100, 200, 300], 10),
    "M10,20V38H30V300");
  assert.equal(page.graphLine({ x: 10, y: 20 }, { x: 230, y: 410 }, a, far, [100, 200, 300], 10),
    "M10,20V38H100V18H200V367H230V410");
});
