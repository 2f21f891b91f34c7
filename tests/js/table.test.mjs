// The operation table: which rows are seen, their order, sums, columns, and what of them is copied.
import assert from "node:assert/strict";
import {test} from "node:test";

import {dice, load, plain} from "./load.mjs";

const page = load();
const KEYS = Array.from(page.OP_COLUMNS, (column) => column.key);

function entry(i, at) {
  const own = {...Object.fromEntries(KEYS.map((key) => [key, null])), name: "", op: "", component: "other", ...at };
  return { i, at: own, words: `${own.name}\n${own.op}`.toLowerCase(), open: false, extra: 0, hidden: false };
}

test("what is bisected is what a search from the first finds", () => {
  const roll = dice(5);
  for (let round = 0; round < 300; round += 1) {
    const values = Array.from({ length: roll(20) }, () => roll(30)).sort((a, b) => a - b), from = roll(32);
    const first = values.findIndex((value) => value >= from);
    const found = page.firstWhere(values.length, (i) => values[i] >= from);
    assert.equal(found, first < 0 ? values.length : first);
  }
});

test("the entry at a height is the one whose pixels hold it", () => {
  const roll = dice(6), entries = [];
  for (let i = 0; i < 60; i += 1) { entries.push({ open: roll(3) === 0, extra: 40 + roll(60) }); }
  const tops = page.opTops(entries, 28), pixels = [];
  entries.forEach((one, i) => {
    for (let y = 0; y < 28 + (one.open ? one.extra : 0); y += 1) { pixels.push(i); }
  });
  assert.equal(tops.at(-1), pixels.length);
  pixels.forEach((i, y) => assert.equal(page.opAt(tops, y), i));
  assert.deepEqual([page.opAt(tops, pixels.length), page.opAt(page.opTops([], 28), 0)], [60, 0]);
});

test("rows are sorted by value, those not recorded last both ways, equal ones as they were", () => {
  const works = [5, null, 3, 5, null, 0], entries = works.map((work, i) => entry(i, { work }));
  const order = (down) => entries.toSorted(page.opBefore({ key: "work", down })).map((one) => one.i);
  assert.deepEqual([order(false), order(true)], [[5, 2, 0, 3, 1, 4], [0, 3, 2, 5, 1, 4]]);
});

test("a column is sorted its natural way, then the other, then not at all", () => {
  const said = (sort) => sort && [sort.key, sort.down];
  for (const [key, first] of [["work", true], ["name", false], ["node", false], ["layer", false], ["begin", false]]) {
    const one = page.opSort(null, key), two = page.opSort(one, key);
    assert.deepEqual([said(one), said(two), page.opSort(two, key)], [[key, first], [key, !first], null]);
  }
  assert.deepEqual(said(page.opSort({ key: "name", down: true }, "work")), ["work", true]);
});

test("an order that an address does not know is none", () => {
  assert.deepEqual(plain(page.opSorted("-work")), { key: "work", down: true });
  assert.deepEqual(plain(page.opSorted("work")), { key: "work", down: false });
  assert.deepEqual(["", "-", "--work", "nothing", "__proto__"].map(page.opSorted), [null, null, null, null, null]);
});

test("a row is wanted when it has all that is asked for", () => {
  const one = entry(0, { name: "ffn_out-1", op: "MUL_MAT", component: "ffn_down", disk: 4096, copied: 0 });
  const wanted = (more) => page.opWanted(one, { words: [], op: "", component: "", memory: "", ...more });
  const all = [{}, { words: ["ffn", "mul"] }, { op: "MUL_MAT" }, { component: "ffn_down" }, { memory: "disk" }];
  const none =
    [{ words: ["ffn", "add"] }, { op: "MUL" }, { component: "ffn_up" }, { memory: "copied" }, { memory: "buffer" }];
  assert.deepEqual([all.map(wanted), none.map(wanted)], [all.map(() => true), none.map(() => false)]);
});

test("blk.N and layerN mean a layer, whatever the names of its operations", () => {
  const listed = [1, 2, 21, null].map((layer) => entry(0, { name: "sum", op: "ADD", layer }));
  const found = (...words) => listed.filter((row) => page.opWanted(row, { words })).map((row) => row.at.layer);
  assert.deepEqual([found("blk.2"), found("layer2"), found("layer=21"), found("blk.2."), found("blk.2.attn")],
    [[2], [2], [21], [2], []]);
  assert.deepEqual(listed.filter((row) => page.opWanted(row, { words: [], layer: "none" })).length, 1);
  assert.deepEqual(plain(page.opLayers(listed)).map(([value]) => value), ["1", "2", "21", "none"]);
});

test("sums count what is recorded, and say of how many", () => {
  const column = page.OP_COLUMNS.find((one) => one.key === "work");
  const sum = (works) => plain(page.opSum(works.map((work, i) => entry(i, { work })), column));
  assert.deepEqual(sum([1500, null, 500]), { text: "2.00", of: "2 of 3 rows" });
  assert.deepEqual(sum([1500]), { text: "1.50", of: "" });
  assert.deepEqual(sum([null]), { text: "—", of: "0 of 1 rows" });
});

test("columns of an address come after node and result, in its order; the others are hidden behind them", () => {
  const made = plain(page.opColumns("used,work,used,node,nothing,op"));
  assert.deepEqual(made.order.slice(0, 5).map((k) => KEYS[k]), ["node", "name", "used", "work", "op"]);
  assert.deepEqual(made.order.toSorted((a, b) => a - b), KEYS.map((_, k) => k));
  assert.deepEqual(KEYS.filter((_, k) => made.visible[k]), ["node", "name", "op", "work", "used"]);
});

test("columns come back from the words of their address", () => {
  const roll = dice(9), usual = page.opColumns("");
  assert.equal(page.opColumnsText(usual), "");
  assert.equal(page.opColumnsText(page.opColumns("node,nothing")), "");
  for (let round = 0; round < 100; round += 1) {
    const keys = KEYS.slice(2).filter(() => roll(2)), text = keys.toSorted(() => roll(3) - 1).join(",");
    const columns = page.opColumns(text), again = page.opColumns(page.opColumnsText(columns));
    assert.deepEqual(plain(again), plain(columns), text);
  }
});

// Rows of a CSV, as RFC 4180 has them.
function rows(text) {
  const made = [[""]];
  let quoted = false;
  for (let i = 0; i < text.length; i += 1) {
    const sign = text[i], row = made.at(-1);
    if (sign === '"' && quoted && text[i + 1] === '"') {
      row[row.length - 1] += '"';
      i += 1;
    } else if (sign === '"') {
      quoted = !quoted;
    } else if (sign === "," && !quoted) {
      row.push("");
    } else if (sign === "\n" && !quoted) {
      made.push([""]);
    } else {
      row[row.length - 1] += sign;
    }
  }
  assert.deepEqual([made.pop(), quoted], [[""], false]);
  return made;
}

const NAMES = ["plain", "a,b", 'say "x"', "two\nlines", "re\rturn", '"', "", "=1+1", "-2", "+3", "@sum", "-x", "\t=1"];

test("what is kept as CSV holds every name and number as it is, and no formula", () => {
  const entries = NAMES.map((name, i) => entry(i, { node: i, name, work: i ? 2 ** 40 + i : null }));
  const [head, ...body] = rows(page.opLines(entries, page.opColumns("work"), ",", true));
  assert.deepEqual(head, ["node", "result", "work_ns"]);
  const guarded = NAMES.map((name) => (["=1+1", "@sum", "-x", "\t=1"].includes(name) ? `'${name}` : name));
  assert.deepEqual(body, guarded.map((name, i) => [String(i), name, i ? String(2 ** 40 + i) : ""]));
});

test("what is copied has a line per row and a tab between cells, whatever the names", () => {
  const entries = NAMES.map((name, i) => entry(i, { node: i, name, work: 1 }));
  const lines = page.opLines(entries, page.opColumns("work"), "\t", false).split("\n");
  assert.deepEqual([lines.length, lines.pop()], [NAMES.length + 2, ""]);
  lines.forEach((line) => assert.equal(line.split("\t").length, 3));
});

test("a search of the whole run wants every word, and finds the passes that have a match", () => {
  const index = {
    entries:
      [["q-0", "MUL_MAT", 0, "attention_q"], ["norm", "MUL", null, "norm"], ["q-1", "MUL_MAT", 1, "attention_q"]],
    graphs: { 0: 0, 7: 1 },
    maps: [{ 0: [4], 1: [9, 10] }, { 0: [5] }],
  };
  index.words = index.entries.map((one) => page.opWordsOf(one));
  const found = (text) => Array.from(page.opMatches(index, text));
  assert.deepEqual([found("MUL"), found("mul_mat layer 1"), found("norm q"), found("  ")],
    [[0, 1, 2], [2], [], [0, 1, 2]]);
  const passes = [{ id: 0, graph: 0 }, { id: 1, graph: 7 }, { id: 2, graph: null }];
  const at = (i) => Array.from(page.opPlaces(index, passes, i), ([pass, nodes]) => [pass.id, nodes]);
  assert.deepEqual([at(0), at(1), at(2)], [[[0, [4]], [1, [5]]], [[0, [9, 10]]], []]);
});
