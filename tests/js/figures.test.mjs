// Which row of the picture of the file holds a pass.
import assert from "node:assert/strict";
import {test} from "node:test";

import {load, plain} from "./load.mjs";

test("a row stands for its first pass and those up to the next row", () => {
  const page = load(), rows = [[2, 0, 0, 10, 20], [3, 5, 30, 110, 52], [9, 0, 60, 10, 80]];
  const found = [1, 2, 3, 8, 9, 12].map((pass) => plain(page.figureRow(rows, pass)));
  assert.deepEqual(found, [null, rows[0], rows[1], rows[1], rows[2], rows[2]]);
  assert.equal(page.figureRow([], 3), null);
});
