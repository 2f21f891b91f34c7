// Columns of numbers: what Python packed comes back, and what the tests pack is what Python packs.
import assert from "node:assert/strict";
import {test} from "node:test";

import {expected, load, pack, plain} from "./load.mjs";

const page = load();

test("numbers that Python packed come back", () => {
  for (const [numbers, text] of expected.packed) { assert.deepEqual(plain(page.unpack(text)), numbers); }
});

test("the packer of these tests writes what Python writes", () => {
  for (const [numbers, text] of expected.packed) { assert.equal(pack(numbers), text); }
});

test("the largest numbers of a script are exact", () => {
  const numbers = [2 ** 52 - 1, -(2 ** 52) + 1, 0, null, 1, -1, 63, 64, -63, -64, 2 ** 31, -(2 ** 31), 2 ** 32 + 1];
  assert.deepEqual(plain(page.unpack(pack(numbers))), numbers);
});

test("nothing is not a number", () => { assert.equal(page.unpack("").length, 0); });
