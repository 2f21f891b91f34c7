// The slider of memory: what a policy serves, reads and takes at a size.
import assert from "node:assert/strict";
import {test} from "node:test";

import {load, plain} from "./load.mjs";

const page = load({ location: { hash: "" } });
const state = {
  curves: { LRU: [[10, 20, 40], [0.1, 0.5, 1]] },
  token_bytes: 1000,
  computing_ns: 5,
  rate: 1e9
};

test("LRU has steps: between two sizes the rate of the smaller one holds", () => {
  const rates = [0, 9, 10, 19, 20, 39, 40, 99].map((size) => page.slideRate(state.curves.LRU, size, true));
  assert.deepEqual(plain(rates), [0, 0, 0.1, 0.1, 0.5, 0.5, 1, 1]);
});

test("the others have lines, as they are drawn: over the logarithm of size", () => {
  const rates = [9, 10, 20, 20 * Math.SQRT2, 40, 99].map((size) => page.slideRate(state.curves.LRU, size, false));
  assert.deepEqual(plain(rates).map((rate) => rate.toFixed(6)), [0, 0.1, 0.5, 0.75, 1, 1].map((r) => r.toFixed(6)));
});

test("a token reads what is not served, and computes beside", () => {
  assert.deepEqual(plain(page.slideRow(state, "LRU", 20)), { rate: 0.5, bytes: 500, ns: 505 });
  assert.equal(page.slideRow(Object.assign({}, state, { computing_ns: null }), "LRU", 20).ns, null);
});
