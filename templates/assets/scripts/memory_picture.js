/* The memory explorer's picture: lanes of blocks, a ruler above, on a canvas. */
var MEMORY_COLOURS = [0, 1, 2, 3, 4, 5, 6, 7].map(function(i) { return "--tg-s" + i; });
var MEMORY_STEPS = MEMORY_COLOURS.length, MEMORY_LEFT = 120, MEMORY_RULER = 34;

/* The ends of the colour steps: 1, 2, 3, … if `top` is small, else each is four times the one before. */
function memoryScale(top) {
  var ends = [];
  for (var i = 0; i < MEMORY_STEPS; i += 1) {
    ends.push(top <= MEMORY_STEPS ? i + 1 : top / Math.pow(4, MEMORY_STEPS - 1 - i));
  }
  return {
    ends: ends,
    colours: MEMORY_COLOURS,
    kind: top <= MEMORY_STEPS ? "linear scale" : "logarithmic scale",
    step: function(value) {
      var k = 0;
      while (k < MEMORY_STEPS - 1 && value > ends[k] * (1 + 1e-9)) { k += 1; }
      return k;
    }
  };
}

/* The scale of shares: up to 1 %, and eight equal steps from 0 to 100 %, the same for all runs. */
function memoryShares() {
  var ends = [0.01];
  for (var i = 1; i <= MEMORY_STEPS; i += 1) { ends.push(i / MEMORY_STEPS); }
  return {
    ends: ends,
    colours: ["--tg-small"].concat(MEMORY_COLOURS),
    kind: "linear scale above 1 %",
    step: function(value) {
      return value <= 0.01 ? 0 : Math.max(1, Math.min(Math.ceil(value * MEMORY_STEPS - 1e-9), MEMORY_STEPS));
    }
  };
}
/* What a block is worth per pass in a quantity; `share`: the bytes used at least once of all its bytes. */
function memoryWorth(block, lane, quantity) {
  var sums = block.sums;
  if (quantity === "share") {
    return sums.used_bytes / (block.bytes || block.size) / (block.n || lane.passes || lane.n);
  }
  return sums[quantity] === null ? null : sums[quantity] / (block.n || lane.n);
}

/* The places of the pieces on the axis: as in the file, or by layer, pieces outside layers first. */
function memoryPlaces(book, order) {
  var at = new Float64Array(book.pieces.length), sorted = book.pieces.slice(), sum = 0;
  if (order === "file") {
    book.pieces.forEach(function(piece) { at[piece.i] = piece.begin; });
    return { at: at, total: book.data.total, sorted: sorted };
  }
  sorted.sort(function(a,
    b) { return (a.layer === null ? -1 : a.layer) - (b.layer === null ? -1 : b.layer) || a.begin - b.begin; });
  sorted.forEach(function(piece) {
    at[piece.i] = sum;
    sum += piece.size;
  });
  return { at: at, total: sum, sorted: sorted };
}

/* The lanes of a view (`book.lanes` are the rows of passes that are shown), each with a name, its number of passes `n`,
   and its blocks; a block has its piece (or null), place and size on the axis from 0 to `total`, and its sums. */
function memoryLanes(book, view, places, chosen) {
  function layerName(layer) { return layer === null ? "no layer" : "layer " + layer; }
  var lanes = [], total = places.total, byLayer = new Map();
  if (view === "tokens") {
    book.lanes.forEach(function(row) {
      var blocks = [];
      row.use.forEach(function(sums,
        i) { blocks.push({ piece: book.pieces[i], from: places.at[i], size: book.pieces[i].size, sums: sums }); });
      lanes.push({ name: row.label, n: row.n, row: row, blocks: blocks, outside: row.outside });
    });
    return { lanes: lanes, total: total, all: places };
  }
  book.pieces.forEach(function(piece) {
    if (!byLayer.has(piece.layer)) { byLayer.set(piece.layer, []); }
    byLayer.get(piece.layer).push(piece);
  });
  var layers =
    Array.from(byLayer.keys()).sort(function(a, b) { return (a === null ? -1 : a) - (b === null ? -1 : b); });
  if (view === "layers") {
    total = 0;
    layers.forEach(function(layer) {
      var sum = 0, blocks = byLayer.get(layer).map(function(piece) {
        var block = { piece: piece, from: sum, size: piece.size, sums: chosen.use.get(piece.i) || null };
        sum += piece.size;
        return block;
      });
      total = Math.max(total, sum);
      lanes.push({ name: layerName(layer), n: chosen.n, passes: chosen.passes || chosen.n, blocks: blocks });
    });
    return { lanes: lanes, total: total };
  }
  layers.forEach(function(layer) {
    var bytes = byLayer.get(layer).reduce(function(sum, piece) { return sum + piece.size; }, 0);
    var blocks = book.rows.map(function(row, k) {
      var of = memorySums(), sums;
      byLayer.get(layer).forEach(function(piece) {
        var part = row.use.get(piece.i); /* a fused operation has no time of its own */
        if (part) { memoryAdd(of, layer, part.work_ns === null ? Object.assign({}, part, { work_ns: 0 }) : part); }
      });
      sums = of.use.get(layer) || memoryNothing();
      return {
        piece: null,
        row: k,
        from: k,
        size: 1,
        bytes: bytes,
        sums: sums.n_uses || sums.waited_ns || sums.read_bytes ? sums : null,
        n: row.n
      };
    });
    lanes.push({ name: layerName(layer), n: 1, blocks: blocks });
  });
  return { lanes: lanes, total: book.rows.length };
}

/* Calls `each` with every pixel that a stretch covers, and with how many bytes of it lie there. */
function memoryPixels(from, size, look, per, width, each) {
  var a = (from - look.from) * per, b = a + size * per;
  for (var px = Math.max(0, Math.floor(a)); px < Math.min(b, width); px += 1) {
    each(px, (Math.min(b, px + 1) - Math.max(a, px)) / per);
  }
}
/* The bytes of pieces of at most two pixels in each column of pixels. */
function memoryNarrow(places, look, per, width) {
  var bytes = new Float64Array(width);
  places.sorted.forEach(function(piece) {
    if (piece.size * per > 2) { return; }
    memoryPixels(places.at[piece.i], piece.size, look, per, width, function(px, n) { bytes[px] += n; });
  });
  return bytes;
}
/* The share of those bytes that a lane used; the used bytes of a piece count as spread evenly over it. */
function memoryColumns(lane, bytes, look, per) {
  var used = new Float64Array(bytes.length);
  lane.blocks.forEach(function(block) {
    if (!block.sums || block.size * per > 2) { return; }
    var share = memoryWorth(block, lane, "share");
    memoryPixels(block.from, block.size, look, per, bytes.length, function(px, n) { used[px] += n * share; });
  });
  return used.map(function(n, px) { return bytes[px] > 0 ? Math.min(1, n / bytes[px]) : 0; });
}

/* Draws those columns of a lane, with hatching over what was copied. */
function memoryDrawColumns(pen, lane, bytes, look, per, how) {
  memoryColumns(lane, bytes, look, per).forEach(function(share, px) {
    if (!share) { return; }
    pen.fillStyle = how.steps[look.scale.step(share)];
    pen.fillRect(px, 0, 1, how.high);
  });
  pen.fillStyle = how.hatch;
  lane.blocks.forEach(function(block) {
    if (block.size * per > 2 || !block.sums || !block.sums.copied) { return; }
    pen.fillRect((block.from - look.from) * per, 0, block.size * per, how.high);
  });
}

/* Draws lanes into a canvas; returns the geometry of the drawing. `look`: `from` and `to` (the visible part of the
   axis), quantity, scale, and `high` (the height of all lanes in pixels, if a reader chose it). */
function memoryDraw(canvas, layout, look, mark) {
  var n = Math.max(layout.lanes.length, 1),
      step = look.high ? Math.max(4, look.high / n) : Math.max(4, Math.min(18, 320 / n)),
      ruler = look.bands ? MEMORY_RULER : 4;
  var on = sharp(canvas, Math.round(ruler + step * layout.lanes.length + 24)), pen = on.pen,
      left = Math.min(MEMORY_LEFT, on.width / 4);
  var width = Math.max(on.width - left - 4, 1), per = width / (look.to - look.from);
  var ink = colourOf(canvas, "--tg-ink"), muted = colourOf(canvas, "--tg-muted"), band = colourOf(canvas, "--tg-band"),
      ground = colourOf(canvas, "--tg-ground");
  var steps = look.scale.colours.map(function(name) { return colourOf(canvas, name); });
  var hatch = memoryHatch(pen, ground),
      columns = look.quantity === "share" && layout.all ? memoryNarrow(layout.all, look, per, Math.ceil(width)) : null;
  function x(at) { return left + (at - look.from) * per; }
  pen.save();
  pen.beginPath();
  pen.rect(left, 0, width, on.height);
  pen.clip();
  layout.lanes.forEach(function(lane, k) {
    var y = ruler + k * step, high = Math.max(step - 1, 1);
    pen.fillStyle = band;
    pen.globalAlpha = 0.5;
    pen.fillRect(left, y, width, high);
    pen.globalAlpha = 1;
    lane.blocks.slice().sort(function(a, b) { return b.size - a.size; }).forEach(function(block) {
      if (!block.sums || block.from + block.size < look.from || block.from > look.to) { return; }
      if (columns && block.size * per <= 2) { return; }
      var value = memoryWorth(block, lane, look.quantity), a = x(block.from),
          b = Math.max(x(block.from + block.size), a + 2);
      if (value !== 0) {
        pen.fillStyle = value === null ? muted : steps[look.scale.step(value)];
        pen.fillRect(a, y, b - a > 4 ? b - a - 0.5 : b - a, high);
      }
      if (block.sums.copied) {
        pen.fillStyle = hatch;
        pen.fillRect(a, y, b - a, high);
      }
    });
  });
  if (columns) {
    layout.lanes.forEach(function(lane, k) {
      pen.save();
      pen.translate(left, ruler + k * step);
      memoryDrawColumns(pen, lane, columns, look, per, { high: Math.max(step - 1, 1), steps: steps, hatch: hatch });
      pen.restore();
    });
  }
  if (look.bands) { memoryBands(pen, look, x, ink, muted); }
  if (mark && mark.block) {
    /* visible on pale and on dark blocks; thinner where rows are low */
    (step < 8 ? [[ground, 3], [ink, 1]] : [[ground, 5], [ink, 2]]).forEach(function(stroke) {
      pen.strokeStyle = stroke[0];
      pen.lineWidth = stroke[1];
      pen.strokeRect(x(mark.block.from) - 1, ruler + mark.lane * step - 1, Math.max(mark.block.size * per, 2) + 2,
        Math.max(step - 1, 1) + 2);
    });
  }
  pen.restore();
  pen.fillStyle = muted;
  pen.textAlign = "right";
  var every = Math.max(1, Math.ceil(13 / step));
  layout.lanes.forEach(function(lane, k) {
    if (k % every === 0) { pen.fillText(lane.name, left - 6, ruler + k * step + step / 2, left - 8); }
  });
  pen.textAlign = "left";
  pen.fillText(look.left, left, on.height - 10);
  pen.textAlign = "right";
  pen.fillText(look.right, left + width, on.height - 10);
  return {
    left: left,
    width: width,
    step: step,
    ruler: ruler,
    x: x,
    at: function(px) { return look.from + (px - left) / per; },
    per: per
  };
}

function memoryHatch(pen, ground) {
  var tile = document.createElement("canvas"), line;
  tile.width = tile.height = 6;
  line = tile.getContext("2d");
  line.strokeStyle = ground;
  line.globalAlpha = 0.75;
  line.lineWidth = 1.4;
  [[-1, 1, 1, -1], [0, 6, 6, 0], [5, 7, 7, 5]].forEach(function(l) {
    line.beginPath();
    line.moveTo(l[0], l[1]);
    line.lineTo(l[2], l[3]);
    line.stroke();
  });
  return pen.createPattern(tile, "repeat");
}

/* The ruler: component groups as colours, layers as names where there is room. */
function memoryBands(pen, look, x, ink, muted) {
  look.bands.forEach(function(band) {
    var a = x(band.from), b = Math.max(x(band.to), a + 1);
    if (b < 0 || band.to < look.from || band.from > look.to) { return; }
    pen.fillStyle = band.colour;
    pen.fillRect(a, 20, b - a, 8);
  });
  look.layers.forEach(function(range) {
    var a = Math.max(x(range.from), x(look.from)), b = Math.min(x(range.to), x(look.to)),
        text = range.layer === null ? "" :
      b - a > 56                    ? "layer " + range.layer :
                                      String(range.layer);
    pen.fillStyle = muted;
    if (b > a && text) { pen.fillRect(Math.round(a), 4, 1, 14); }
    pen.fillStyle = ink;
    pen.textAlign = "center";
    if (text && pen.measureText(text).width < b - a - 6) { pen.fillText(text, (a + b) / 2, 10); }
  });
}
