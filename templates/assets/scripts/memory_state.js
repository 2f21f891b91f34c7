/* The state of the memory explorer; nothing is drawn here. `now` has the chosen view, quantity and order, `places` and
   `layout` (the lanes) that follow from them, `look` (the visible part of the axis) and `mark` (the marked block). */
var MEMORY_NAMES = {
  share: "share of its bytes used",
  touched_bytes: "bytes touched",
  n_uses: "times touched",
  work_ns: "time of its operations",
  waited_ns: "waiting for the disk",
  read_bytes: "bytes read from the disk"
};

/* Shows `span` of the axis, from `from` on or as near to it as the axis allows. */
function memoryWindow(now, from, span) {
  now.look.from = Math.max(0, Math.min(from, now.layout.total - span));
  now.look.to = now.look.from + span;
}
/* Zooms; the place `middle` of the axis stays where it is. */
function memoryZoom(now, by, middle) {
  var look = now.look, total = now.layout.total, length = look.to - look.from;
  var span = Math.min(Math.max(length * by, total / 1e7, 1e-9), total),
      at = middle === undefined ? (look.from + look.to) / 2 : middle;
  memoryWindow(now, at - (at - look.from) / length * span, span);
}
function memoryPan(now, by) {
  var span = now.look.to - now.look.from;
  memoryWindow(now, now.look.from + by * span, span);
}
function memoryFit(now) {
  var block = now.mark.block, size = Math.max(block.size * 1.5, now.layout.total / 1e6);
  now.look.from = Math.max(0, block.from - (size - block.size) / 2);
  now.look.to = Math.min(now.layout.total, now.look.from + size);
}
function memoryMiddle(block) { return block.from + block.size / 2; }

/* The mark of a piece: in `lane` if it has the piece, else in the first lane that has it; null: none. */
function memoryFind(now, piece, lane) {
  var k, block;
  function blockIn(l) {
    return now.layout.lanes[l] && now.layout.lanes[l].blocks.filter(function(b) { return b.piece === piece; })[0];
  }
  if (!piece) { return null; }
  if ((block = blockIn(lane))) { return { lane: lane, block: block, piece: piece }; }
  for (k = 0; k < now.layout.lanes.length; k += 1) {
    if ((block = blockIn(k))) { return { lane: k, block: block, piece: piece }; }
  }
  return null;
}
/* Of the pieces of a tensor that a lane has, the one with most of the shown quantity; undefined: it has none. */
function memoryMost(now, tensor, lane) {
  var blocks = now.layout.lanes[lane].blocks.filter(
    function(block) { return block.piece && block.piece.tensor === tensor && block.sums; });
  function amount(block) { return block.sums[now.quantity] || 0; }
  return blocks.length ? blocks.sort(function(a, b) { return amount(b) - amount(a); })[0].piece : undefined;
}
/* The block before or after the marked one in its lane. */
function memoryBeside(now, lane, by) {
  var blocks = now.layout.lanes[lane].blocks.slice().sort(function(a, b) { return a.from - b.from; });
  var at = now.mark ? blocks.indexOf(now.mark.block) : by > 0 ? -1 : blocks.length;
  return blocks[Math.max(0, Math.min(at + by, blocks.length - 1))];
}
/* The block of a lane whose middle is nearest to that of the marked block. */
function memoryNearest(now, lane) {
  var middle = now.mark ? memoryMiddle(now.mark.block) : now.look.from, best = null;
  now.layout.lanes[lane].blocks.forEach(function(block) {
    if (!best || Math.abs(memoryMiddle(block) - middle) < Math.abs(memoryMiddle(best) - middle)) { best = block; }
  });
  return best;
}
/* The smallest block under the pointer, or within two pixels of it. */
function memoryUnder(now, lane, px) {
  var best = null;
  now.layout.lanes[lane].blocks.forEach(function(block) {
    var a = now.drawn.x(block.from), b = Math.max(now.drawn.x(block.from + block.size), a + 2);
    var under = (block.sums || now.view !== "tokens") && px >= a - 1 && px <= b + 1;
    if (under && (!best || block.size < best.size)) { best = block; }
  });
  return best;
}

/* The scale of a quantity, the same for the whole run: of single passes, of layers, or of sums of all passes. */
function memoryTop(now) {
  var quantity = now.quantity, top = now.book.data.top[quantity] || 1;
  function rise(sums, n) {
    if (sums && sums[quantity] / n > top) { top = sums[quantity] / n; }
  }
  if (now.view === "matrix") {
    now.layout.lanes.forEach(function(lane) { lane.blocks.forEach(function(block) { rise(block.sums, block.n); }); });
  }
  if (now.view === "layers" && now.passes.chosen.mode === "sum") {
    now.passes.whole().use.forEach(function(sums) { rise(sums, 1); });
  }
  return top;
}
/* The ranges of component groups and of layers on the axis; small gaps do not divide a range. */
function memoryRuler(places, groups) {
  var ranges = { bands: [], layers: [] };
  function grow(list, key, value, from, to) {
    var last = list[list.length - 1];
    if (!last || last[key] !== value || from - last.to >= 4096) { list.push(last = { from: from }); }
    last[key] = value;
    last.to = to;
  }
  places.sorted.forEach(function(piece) {
    var from = places.at[piece.i], to = from + piece.size;
    grow(ranges.bands, "name", groups[piece.component] || "other", from, to);
    grow(ranges.layers, "layer", piece.layer, from, to);
  });
  return ranges;
}
/* Computes places, lanes and scale from the choices; `keep`: the same part of the axis stays visible. */
function memoryLaid(now, keep) {
  var look = now.look;
  now.places = memoryPlaces(now.book, now.order);
  now.layout = memoryLanes(now.book, now.view, now.places, now.view === "layers" ? now.passes.use() : null);
  if (!keep || look.to > now.layout.total) {
    look.from = 0;
    look.to = now.layout.total;
  }
  look.quantity = now.quantity;
  look.scale = now.quantity === "share" ? memoryShares() : memoryScale(memoryTop(now));
  if (now.mark) { now.mark = memoryFind(now, now.mark.piece, now.mark.lane); }
}
