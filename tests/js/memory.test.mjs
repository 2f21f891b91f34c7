// What the memory explorer knows of a run: pieces of the file, what rows and passes used of them, lanes and stretches.
import assert from "node:assert/strict";
import {test} from "node:test";

import {dice, gaps, load, pack, plain} from "./load.mjs";

const page = load();
const SIZE = 100; // of every piece
const UNKNOWN = {
  waited_ns: null,
  read_bytes: null
};
const PIECES = [
  // tensor, expert, begin on the axis; two files of 1000 bytes, one behind the other
  [0, null, 0],
  [1, 0, 100],
  [1, 1, 200],
  [2, null, 500],
  [3, null, 1000],
  [4, null, 1100],
];

function row(label, uses, more) {
  const column = (i) => pack(uses.map((use) => use[i]));
  return {
    label,
    n: 1,
    outside: false,
    first: 0,
    buffers: {},
    piece: pack(gaps(uses.map((use) => use[0]))),
    copied: column(1),
    n_uses: column(2),
    touched_bytes: column(3),
    used_bytes: pack(uses.map((use) => use[3] - 1)),
    work_ns: column(4),
    ...more,
  };
}

function data(rows) {
  return {
    cut: {
      tensor: pack(PIECES.map((one) => one[0])),
      expert: pack(PIECES.map((one) => one[1])),
      begin: pack(gaps(PIECES.map((one) => one[2]))),
      size: pack(PIECES.map(() => SIZE)),
    },
    tensors: {
      0: ["embd", null, "embedding", "F32", 0],
      1: ["up", 0, "expert_up", "F32", 0],
      2: ["q", 1, "attention_q", "F32", 0],
      3: ["k", 1, "other", "F32", 1],
      4: ["norm", null, "norm", "F32", 1],
    },
    files: [["a.gguf", 0], ["b.gguf", 1000]],
    total: 2000,
    top: {},
    rows,
    passes: rows.map((one, k) => [10 + k, `pass ${10 + k}`, "000", 0, k, 0]),
  };
}

const ROWS = [
  row("load", [[0, 0, 1, 5, 10]], { outside: true }),
  row("prompt", [[0, 0, 1, 50, 7], [2, 1, 2, 100, null]]),
  row("token 0", [[2, 0, 1, 30, 4], [4, 0, 3, 100, 6]], { n: 1 }),
];
const book = page.memoryData(data(ROWS));

test("pieces lie where the file has them", () => {
  assert.deepEqual(plain(book.pieces).map((one) => [one.begin, one.end, one.name, one.expert, one.file, one.offset]), [
    [0, 100, "embd", null, 0, 0],
    [100, 200, "up", 0, 0, 100],
    [200, 300, "up", 1, 0, 200],
    [500, 600, "q", null, 0, 500],
    [1000, 1100, "k", null, 1, 0],
    [1100, 1200, "norm", null, 1, 100],
  ]);
});

test("an offset of a file leads to the piece that holds it, or to none", () => {
  const at = (file, offset) => {
    const piece = book.lies(file, offset);
    return piece && piece.i;
  };
  assert.deepEqual([at(0, 99), at(0, 100), at(0, 299), at(0, 300), at(1, 0), at(1, 199), at(1, 200)],
    [0, 1, 2, null, 4, 5, null]);
  assert.deepEqual([book.firstOf(1).i, book.firstOf(9)], [1, undefined]);
});

test("rows added up count every use; a time that is not known makes none of the sum", () => {
  const sum = book.together([1, 2]);
  assert.equal(sum.n, 2);
  assert.deepEqual(plain(sum.use), new Map([
    [0, { copied: false, n_uses: 1, touched_bytes: 50, used_bytes: 49, work_ns: 7, ...UNKNOWN }],
    [2, { copied: true, n_uses: 3, touched_bytes: 130, used_bytes: 128, work_ns: null, ...UNKNOWN }],
    [4, { copied: false, n_uses: 3, touched_bytes: 100, used_bytes: 99, work_ns: 6, ...UNKNOWN }],
  ]));
});

test("waiting for the disk is added up where it was recorded", () => {
  const waited = (values) => ({ waited_ns: pack(values) });
  const recorded = page.memoryData(data([
    row("load", [[0, 0, 1, 5, 10]], {...waited([3]), outside: true }),
    row("prompt", [[0, 0, 1, 50, 7], [2, 1, 2, 100, null]], waited([0, 900])),
    row("token 0", [[2, 0, 1, 30, 4], [4, 0, 3, 100, 6]], waited([100, 20])),
  ]));
  const sums = recorded.together([1, 2]).use;
  assert.deepEqual([0, 2, 4].map((piece) => sums.get(piece).waited_ns), [0, 1000, 20]);
  const lanes = page.memoryLanes(recorded, "matrix", page.memoryPlaces(recorded, "file"), null).lanes;
  const told = lanes.map((lane) => [lane.name, lane.blocks.map((block) => block.sums && block.sums.waited_ns)]);
  assert.deepEqual(plain(told),
    [["no layer", [3, 0, null]], ["layer 0", [null, 900, 100]], ["layer 1", [null, null, 20]]]);
});

test("a single pass tells what it waited for and read, also of what it did not touch; where nothing was recorded, none",
  () => {
    const disk = page.diskOf(pack([0, null, 70, 4096, 1, 1, 0, 512, 1, null, 5, 0]));
    assert.deepEqual(plain(disk), [[0, null, 70, 4096], [1, 1, 0, 512], [2, null, 5, 0]]);
    const told = (top, pass) => {
      const use =
        page.memoryData({...data(ROWS), top }).ofPass({...ran([{ file: 0, offset: 0, bytes: 110 }]), ...pass }).use;
      return Array.from(plain(use), ([piece, sums]) => [piece, sums.n_uses, sums.waited_ns, sums.read_bytes]);
    };
    const both = { waited_ns: 70, read_bytes: 4096 };
    assert.deepEqual(told(both, { from_disk: disk }), [[0, 1, 70, 4096], [1, 1, 0, 0], [2, 0, 0, 512], [3, 0, 5, 0]]);
    assert.deepEqual(told({}, { from_disk: null }), [[0, 1, null, null], [1, 1, null, null]]);
    const waits = page.diskOf(pack([0, null, 70, null]));
    assert.deepEqual(told({ waited_ns: 70 }, { from_disk: waits }), [[0, 1, 70, null], [1, 1, 0, null]]);
  });

test("adding rows up leaves them as they were", () => {
  book.together([1, 1, 2]);
  assert.equal(book.rows[1].use.get(0).touched_bytes, 50);
});

// A pass whose ops access ranges of files; units as passes.js makes them.
function ran(ops) {
  const operands = {}, units = {}, node = ops.map((_, i) => i), run = {};
  ops.forEach((op, i) => {
    run[i] = true;
    operands[i] = [["src0", "name", op.kind ?? "disk", op.file, null, op.offset, null, op.bytes ?? 0]];
    if (op.runs) { units[`${i}.src0`] = { runs: op.runs, size: op.size, bytes: null }; }
  });
  return { node, units, ran: run, work: ops.map((op) => "work" in op ? op.work : 1), known: { operands } };
}

// Of each piece how many bytes an op touched, one after the other; a range touched twice counts twice.
function counted(op, painted = new Map()) {
  const hit = new Map(), start = [0, 1000][op.file] + op.offset;
  const ranges = op.runs ? op.runs.map(([first, n]) => [start + first * op.size, n * op.size]) : [[start, op.bytes]];
  for (const [from, length] of ranges) {
    for (let byte = from; byte < from + length; byte += 1) {
      const i = PIECES.findIndex((one) => one[2] <= byte && byte < one[2] + SIZE);
      if (i < 0) { continue; }
      hit.set(i, (hit.get(i) ?? 0) + 1);
      painted.set(i, (painted.get(i) ?? new Set()).add(byte));
    }
  }
  return hit;
}

test("what a pass used is counted byte by byte", () => {
  const roll = dice(3);
  for (let round = 0; round < 200; round += 1) {
    const ops = Array.from({ length: 1 + roll(4) }, () => {
      const file = roll(2), offset = roll(300);
      const size = 1 + roll(40), runs = [[roll(3), 1 + roll(3)], [8 + roll(3), 1 + roll(4)]];
      return roll(2) ? { file, offset, bytes: roll(700) } : { file, offset, runs, size };
    });
    const wanted = new Map(), painted = new Map();
    for (const op of ops) {
      const hit = counted(op, painted);
      for (const [i, bytes] of hit) {
        const one =
          wanted.get(i) ?? { copied: false, n_uses: 0, touched_bytes: 0, used_bytes: 0, work_ns: 0, ...UNKNOWN };
        wanted.set(i,
          {...one, n_uses: one.n_uses + 1, touched_bytes: one.touched_bytes + bytes, work_ns: one.work_ns + 1 });
      }
    }
    painted.forEach((bytes, i) => { wanted.get(i).used_bytes = bytes.size; });
    assert.deepEqual(plain(book.ofPass(ran(ops)).use), wanted, JSON.stringify(ops));
  }
});

test("what lies in no file, or was copied, is told apart", () => {
  const made = book.ofPass(ran([
    { file: null, offset: 0, bytes: 10 }, { file: 0, offset: 0, bytes: 10, kind: "copied", work: null }
  ]));
  assert.deepEqual(plain(made.use),
    new Map([[0, { copied: true, n_uses: 1, touched_bytes: 10, used_bytes: 10, work_ns: null, ...UNKNOWN }]]));
});

test("places follow the file, or the layers, those of none first", () => {
  const inFile = page.memoryPlaces(book, "file"), inLayers = page.memoryPlaces(book, "layer");
  assert.deepEqual([plain(inFile.at), inFile.total], [PIECES.map((one) => one[2]), 2000]);
  assert.deepEqual(Array.from(inLayers.sorted, (piece) => piece.name), ["embd", "norm", "up", "up", "q", "k"]);
  assert.deepEqual([plain(inLayers.at), inLayers.total], [[0, 200, 300, 400, 500, 100], 600]);
});

test("lanes of tokens hold what each row used, where it lies", () => {
  const made = page.memoryLanes(book, "tokens", page.memoryPlaces(book, "file"), null);
  assert.deepEqual(Array.from(made.lanes, (lane) => lane.name), ["load", "prompt", "token 0"]);
  assert.deepEqual(Array.from(made.lanes[2].blocks, (block) => [block.from, block.size, block.sums.touched_bytes]),
    [[200, 100, 30], [1000, 100, 100]]);
});

test("lanes of layers hold every piece, used or not, one behind the other", () => {
  const made = page.memoryLanes(book, "layers", page.memoryPlaces(book, "file"), book.together([2]));
  const told = (lane) => [lane.name,
    ...Array.from(lane.blocks, (block) => [block.piece.name, block.from, block.sums && block.sums.n_uses])];
  assert.deepEqual(Array.from(made.lanes, told), [
    ["no layer", ["embd", 0, null], ["norm", 100, null]],
    ["layer 0", ["up", 0, null], ["up", 100, 1]],
    ["layer 1", ["q", 0, null], ["k", 100, 3]],
  ]);
  assert.equal(made.total, 200);
});

test("a cell of layers by tokens is the sum of its pieces; fused ones add no time", () => {
  const made = page.memoryLanes(book, "matrix", page.memoryPlaces(book, "file"), null);
  const cells = Array.from(made.lanes,
    (lane) => Array.from(lane.blocks,
      (block) => block.sums && [block.sums.touched_bytes, block.sums.work_ns, block.sums.copied]));
  assert.deepEqual(cells,
    [[[5, 10, false], [50, 7, false], null], [null, [100, 0, true], [30, 4, false]], [null, null, [100, 6, false]]]);
  assert.equal(made.total, 3);
});

// Six passes in four rows: one outside, three that share a row, two of their own.
function several() {
  const rows = [
    row("load", [[0, 0, 1, 5, 1]], { outside: true }), row("tokens 0–2", [[0, 0, 3, 30, 3], [1, 0, 3, 3, 3]], { n: 3 }),
    row("token 3", [[0, 0, 1, 7, 1]]), row("token 4", [[2, 0, 1, 9, 1]])
  ];
  const all = data(rows);
  all.passes = [
    [0, "load", "0", 0, 0, 0], [1, "t0", "0", 0, 1, 0], [2, "t1", "0", 0, 1, 0], [3, "t2", "0", 0, 1, 0],
    [4, "t3", "0", 0, 2, 0], [5, "t4", "0", 0, 3, 0]
  ];
  const own = page.memoryData(all), asked = [];
  const other = load();
  other.loadPass = (entry, folder, done) => asked.push([entry.id, done]);
  other.passOf = (id) => id;
  own.ofPass = (id) =>
    ({ n: 1, use: new Map([[0, { copied: false, n_uses: 1, touched_bytes: 10 * id, used_bytes: id, work_ns: 1 }]]) });
  let changed = 0, failed = 0;
  const passes = other.memoryPasses(own, "ops/", () => { changed += 1; }, () => { failed += 1; });
  return { passes, asked, changed: () => changed, failed: () => failed };
}
const bytes = (used) => Object.fromEntries(Array.from(used.use, ([i, one]) => [i, one.touched_bytes]));

test("all measured passes are shown first, what lies outside is not", () => {
  const { passes } = several(), all = passes.use();
  assert.deepEqual([all.n, bytes(all)], [5, { 0: 37, 1: 3, 2: 9 }]);
  assert.equal(passes.words(), "t0");
});

test("a stretch of whole rows needs nothing to load", () => {
  const { passes, asked } = several();
  passes.set({ mode: "sum" });
  assert.deepEqual([passes.chosen.from, passes.chosen.to, asked.length], [1, 5, 0]);
  assert.deepEqual([passes.use().n, bytes(passes.use())], [1, { 0: 37, 1: 3, 2: 9 }]);
  assert.equal(passes.words(), "t0 to t4: 5 passes");
});

test("a stretch that cuts a row is exact to the pass, once its passes have come", () => {
  const { passes, asked, changed } = several();
  passes.set({ mode: "mean" });
  passes.set({ from: 3, to: 4 });
  assert.deepEqual(asked.map((one) => one[0]), [3]);
  assert.match(passes.words(), /loading/);
  asked.forEach(([, done]) => done());
  assert.deepEqual([changed(), passes.use().n, bytes(passes.use())], [1, 2, { 0: 37 }]);
  assert.equal(passes.words(), "t2 to t3: 2 passes");
});

test("what comes for a stretch that is no longer chosen changes nothing", () => {
  const { passes, asked, changed } = several();
  passes.set({ mode: "one", to: 2 });
  passes.set({ to: 3 });
  assert.deepEqual(asked.map((one) => one[0]), [2, 3]);
  asked[0][1]();
  assert.deepEqual([changed(), bytes(passes.use())], [0, { 0: 30, 1: 3 }]); // still the mean of its row
  asked[1][1]();
  assert.deepEqual([changed(), bytes(passes.use())], [1, { 0: 30 }]);
});

test("ends of a stretch stay in the run and in order", () => {
  const { passes } = several();
  passes.set({ mode: "mean" });
  passes.set({ from: 99 });
  assert.deepEqual([passes.chosen.from, passes.chosen.to], [5, 5]);
  passes.set({ to: -3 });
  assert.deepEqual([passes.chosen.from, passes.chosen.to], [0, 0]);
  assert.equal(passes.words(), "no measured pass");
});

test("the pass whose operations are listed is the last chosen that used the piece", () => {
  const { passes } = several();
  assert.deepEqual([passes.user(0), passes.user(1), passes.user(2)], [4, 3, 5]);
  passes.set({ mode: "one", to: 1 });
  assert.equal(passes.user(2), 1);
});

test("the share of a block is what was used of its bytes, per pass, on one scale from 0 to 100 %", () => {
  const made = page.memoryLanes(book, "tokens", page.memoryPlaces(book, "file"), null), lane = made.lanes[2];
  assert.deepEqual(Array.from(lane.blocks, (block) => page.memoryWorth(block, lane, "share")), [0.29, 0.99]);
  const scale = page.memoryShares();
  assert.deepEqual([0.000008, 0.01, 0.0101, 0.125, 0.126, 0.875, 0.88, 1].map((share) => scale.step(share)),
    [0, 0, 1, 1, 2, 7, 8, 8]);
  assert.equal(scale.colours[scale.step(0.000008)], "--tg-small");
  assert.equal(scale.colours[scale.step(0.125)], "--tg-s0");
  assert.equal(scale.colours.length, scale.ends.length);
  const layer = { n: 1, passes: 4, blocks: [] };
  assert.equal(page.memoryWorth({ size: 100, sums: { used_bytes: 200 } }, layer, "share"), 0.5);
});

test("a column of pixels has the share of all narrow pieces in it", () => {
  const pieces = [[0, 50], [50, 25], [75, 25], [100, 400]].map(([from, size], i) => ({ i, from, size }));
  const places = { sorted: pieces, at: pieces.map((piece) => piece.from) }, look = { from: 0, to: 1000 };
  const narrow = page.memoryNarrow(places, look, 0.01, 10);
  assert.deepEqual(Array.from(narrow).slice(0, 3).map(Math.round), [100, 100, 100].map((n, i) => i ? 0 : n));
  const block = (i, used) => ({ from: pieces[i].from, size: pieces[i].size, sums: { used_bytes: used } });
  const lane = { n: 1, blocks: [block(0, 50), block(2, 5)] };
  assert.ok(Math.abs(page.memoryColumns(lane, narrow, look, 0.01)[0] - 0.55) < 1e-9);
});
