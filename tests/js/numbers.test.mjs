// Numbers and their words, against what the pages' Python writes.
import assert from "node:assert/strict";
import {test} from "node:test";

import {expected, load} from "./load.mjs";

const page = load();
const THIN = "\u202f";

test("three digits are those of the pages", () => {
  for (const [value, text] of expected.three) { assert.equal(page.three(value), text, String(value)); }
});

test("columns have the decimals of the pages", () => {
  expected.decimals.forEach((known, places) => {
    for (const [value, text] of known) { assert.equal(page.fixed(value, 1, places), text, `${value}, ${places}`); }
  });
});

test("durations are those of the pages", () => {
  for (const [value, text] of expected.durations) { assert.equal(page.took(value), text, String(value)); }
});

test("sizes are those of the pages", () => {
  for (const [value, text] of expected.sizes) { assert.equal(page.bytesOf(value), text, String(value)); }
});

test("counts are those of the pages", () => {
  for (const [value, text] of expected.counts) { assert.equal(page.exact(value), text, String(value)); }
});

test("what is not recorded is said to be so", () => {
  assert.deepEqual([page.took(null), page.took(undefined)], ["not recorded", "not recorded"]);
  assert.deepEqual([page.exact(null), page.fixed(undefined, 1e3, 2)], ["—", "—"]);
});

test("digits behind the point are not grouped", () => {
  assert.equal(page.group("1234567.1234567"), `1${THIN}234${THIN}567.1234567`);
  assert.equal(page.fixed(1234567, 1e3, 2), `1${THIN}234.57`);
  assert.equal(page.group("-1234"), `-1${THIN}234`);
});

test("a step of the graph's colours ends where its scale says", () => {
  const ends = [10, 40, 160];
  const found = [0, 10, 10.5, 40, 41, 160, 1e9, null].map((value) => page.graphStep(value, ends));
  assert.deepEqual(found, [0, 0, 1, 1, 2, 2, 2, null]);
});

test("a scale of few whole numbers has a step for each", () => {
  const scale = page.memoryScale(8);
  assert.deepEqual(Array.from(scale.ends), [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.deepEqual([0, 1, 1.5, 2, 8, 9].map(scale.step), [0, 0, 1, 1, 7, 7]);
});

test("a scale of many has steps four times as high as the one before", () => {
  const top = 3 * 2 ** 40, scale = page.memoryScale(top), ends = Array.from(scale.ends);
  assert.equal(ends.at(-1), top);
  ends.slice(1).forEach((end, i) => assert.equal(end, 4 * ends[i]));
  ends.forEach((end, i) => {
    assert.equal(scale.step(end), i);
    assert.equal(scale.step(end * 1.001), Math.min(i + 1, 7));
  });
});
