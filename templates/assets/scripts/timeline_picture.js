/* The timeline's picture: a lane for each thread, time from left to right, drawn on a canvas. */

/* By column of pixels: the number of the colour that took most of its time, -1 where the thread mostly did nothing. */
function columnKinds(lane, from, to, n, nKinds, view) {
  var spent = new Float64Array(n * nKinds), scale = n / (to - from);
  function add(kind, begin, end) {
    var a = Math.max((begin - from) * scale, 0), b = Math.min((end - from) * scale, n), c, stop = Math.ceil(b);
    for (c = Math.floor(a); c < stop; c += 1) { spent[c * nKinds + kind] += Math.min(b, c + 1) - Math.max(a, c); }
  }
  var i = spanAt(lane, from), at, disk;
  for (i = Math.max(i, 0); i < lane.begin.length && lane.begin[i] < to; i += 1) {
    at = lane.begin[i];
    disk = lane.disk ? lane.disk[i] : 0;
    if (disk) { add(view.disk, at, at += disk); }
    add(lane.kind[i], at, at += lane.work[i] - disk);
    add(view.inside, at, at += lane.barrier[i]);
    add(view.after, at, at += lane.wait[i]);
  }
  var best = new Int16Array(n), c, k, most, left;
  for (c = 0; c < n; c += 1) {
    best[c] = -1;
    left = 1;
    most = 0;
    for (k = 0; k < nKinds; k += 1) {
      left -= spent[c * nKinds + k];
      if (spent[c * nKinds + k] > most) {
        most = spent[c * nKinds + k];
        best[c] = k;
      }
    }
    if (left > most) { best[c] = -1; }
  }
  return best;
}
/* The last span that began at this time or before; -1 when there is none. */
function spanAt(lane, time) {
  return firstWhere(lane.begin.length, function(i) { return lane.begin[i] > time; }) - 1;
}
/* The text, cut to `room` pixels with an ellipsis: at its end, or at its begin to keep the end. */
function shortened(pen, text, room, keepEnd) {
  if (pen.measureText(text).width <= room) { return text; }
  while (text && pen.measureText(text + "…").width > room) { text = keepEnd ? text.slice(1) : text.slice(0, -1); }
  return keepEnd ? "…" + text : text + "…";
}
function spanEnd(lane, i) { return lane.begin[i] + lane.work[i] + lane.barrier[i] + lane.wait[i]; }

/* The geometry of the picture, in pixels. */
function lanesPlaces(canvas, view) {
  var at = { axis: 30, ruler: 20, left: 72, right: 12 };
  function count() { return view.lanes.length + view.others.length; }
  function pitch() { return count() <= 12 ? 42 : count() <= 40 ? 22 : 12; }
  at.pitch = pitch;
  at.named = function() { return pitch() > 40; };
  at.bottom = function() { return count() * pitch(); };
  at.plot = function() { return Math.max(canvas.parentNode.clientWidth - at.left - at.right, 10); };
  at.top = function(number) { return number * pitch() + (at.named() ? 16 : 1); };
  at.thick = function() { return pitch() - (at.named() ? 18 : 2); };
  at.x = function(time) { return at.left + (time - view.from) / (view.to - view.from) * at.plot(); };
  at.time = function(px) { return view.from + (px - at.left) / at.plot() * (view.to - view.from); };
  at.perPixel = function() { return (view.to - view.from) / at.plot(); };
  return at;
}

function lanesTicks(on, at, view) {
  var step = Math.pow(10, Math.floor(Math.log10((view.to - view.from) / at.plot() * 110)));
  while (step * at.plot() / (view.to - view.from) < 80) { step *= step.toExponential(0).charAt(0) === "2" ? 2.5 : 2; }
  step = Math.max(step, 1);
  var unit = view.to >= 1e6 ? ["ms", 1e6] : ["µs", 1e3],
      digits = Math.max(0, Math.ceil(-Math.log10(step / unit[1]) - 1e-9));
  var bottom = at.bottom() + at.ruler, time, x;
  on.pen.textAlign = "center";
  for (time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
    x = at.x(time);
    on.pen.fillStyle = view.colours.hairline;
    on.pen.fillRect(Math.round(x), 0, 1, bottom + 4);
    on.pen.fillStyle = view.colours.muted;
    on.pen.fillText(group((time / unit[1]).toFixed(digits)), Math.min(Math.max(x, at.left), on.width - 24),
      bottom + 14);
  }
  on.pen.textAlign = "left";
  on.pen.fillText(unit[0], 0, bottom + 14);
}

/* Draws a thread: its colours, column by column, then edges and words of wide spans. */
function lanesThread(on, at, view, number) {
  var lane = view.lanes[number], n = Math.round(at.plot() * on.ratio), begun = 0, c, y = at.top(number);
  var kinds = columnKinds(lane, view.from, view.to, n, view.palette.length, view);
  on.pen.fillStyle = view.colours.muted;
  on.pen.textAlign = "left";
  if (at.pitch() > 16 || number % 4 === 0) {
    on.pen.fillText(shortened(on.pen, lane.name, at.left - 4, true), 0, y + at.thick() / 2);
  }
  for (c = 1; c <= n; c += 1) {
    if (c < n && kinds[c] === kinds[begun]) { continue; }
    if (kinds[begun] >= 0) {
      on.pen.fillStyle = view.palette[kinds[begun]];
      on.pen.fillRect(at.left + begun / on.ratio, y, (c - begun) / on.ratio, at.thick());
    }
    begun = c;
  }
  lanesEdges(on, at, view, lane, y);
}
/* Draws another backend, below the threads: its splits, pale where only the hand-over has a time. */
function lanesOther(on, at, view, place) {
  var other = view.others[place], y = at.top(view.lanes.length + place), end = on.width - at.right;
  on.pen.fillStyle = view.colours.muted;
  on.pen.textAlign = "left";
  on.pen.fillText(shortened(on.pen, other.name, at.left - 4, true), 0, y + at.thick() / 2);
  other.splits.forEach(function(split) {
    var left = Math.max(at.x(split[1]), at.left), right = Math.min(at.x(split[1] + split[2]), end);
    if (right < at.left || left > end) { return; }
    on.pen.fillStyle = split[3] ? view.colours.band2 : view.colours.elsewhere;
    on.pen.fillRect(left, y, Math.max(right - left, 1), at.thick());
  });
}
function lanesEdges(on, at, view, lane, y) {
  var i = Math.max(spanAt(lane, view.from), 0), left, right, end = on.width - at.right;
  for (; i < lane.begin.length && lane.begin[i] < view.to; i += 1) {
    left = at.x(lane.begin[i]);
    right = at.x(spanEnd(lane, i));
    if (right - left < 4) { continue; }
    on.pen.fillStyle = view.colours.ground;
    if (left >= at.left) { on.pen.fillRect(Math.round(left), y, 1, at.thick()); }
    left = Math.max(left, at.left);
    right = Math.min(right, end);
    if (at.named() && right - left > 40) { lanesWord(on, view, view.about(lane.node[i]).name, left, right, y); }
  }
}
/* The layers of a lane's operations, in order of time: [layer, begin, end in ns] of neighbouring operations. */
function layerRuns(lane, about) {
  var runs = [], last = null;
  lane.node.forEach(function(node, i) {
    var layer = about(node).layer;
    if (layer === null) {
      last = null;
      return;
    }
    if (!last || last[0] !== layer) { runs.push(last = [layer, lane.begin[i], 0]); }
    last[2] = spanEnd(lane, i);
  });
  return runs;
}
/* The ruler below the threads: a band for each layer, from the first thread, with its number where there is room. */
function lanesRuler(on, at, view) {
  var y = at.bottom() + 3, high = at.ruler - 5;
  on.pen.textAlign = "left";
  on.pen.fillStyle = view.colours.muted;
  on.pen.fillText("layer", 0, y + high / 2);
  layerRuns(view.lanes[0], view.about).forEach(function(run) {
    var left = Math.max(at.x(run[1]), at.left), right = Math.min(at.x(run[2]), on.width - at.right);
    if (right <= left) { return; }
    on.pen.fillStyle = run[0] % 2 ? view.colours.band2 : view.colours.band;
    on.pen.fillRect(left, y, Math.max(right - left, 1), high);
    if (right - left < on.pen.measureText(String(run[0])).width + 4) { return; }
    on.pen.fillStyle = view.colours.ink;
    on.pen.fillText(String(run[0]), left + 2, y + high / 2 + 0.5);
  });
}
/* The marked area, in a dashed frame. */
function lanesArea(on, at, view) {
  if (!view.area) { return; }
  var left = Math.max(at.x(view.area[0]), at.left), right = Math.min(at.x(view.area[1]), on.width - at.right);
  on.pen.strokeStyle = view.colours.ink;
  on.pen.lineWidth = 1;
  on.pen.setLineDash([4, 3]);
  on.pen.strokeRect(left, 0.5, Math.max(right - left, 1), at.bottom() - 1);
  on.pen.setLineDash([]);
}
function lanesWord(on, view, word, left, right, y) {
  on.pen.save();
  on.pen.beginPath();
  on.pen.rect(left, y - 15, right - left - 3, 15);
  on.pen.clip();
  var text = shortened(on.pen, word.slice(0, 80), right - left - 4);
  on.pen.fillStyle = view.colours.ground;
  on.pen.fillRect(left, y - 15, on.pen.measureText(text).width + 4, 15);
  on.pen.fillStyle = view.colours.muted;
  on.pen.fillText(text, left + 1, y - 7);
  on.pen.restore();
}
function lanesFrame(on, at, lane, place, colour, width) {
  var left = at.x(lane.begin[place.i]), right = Math.max(at.x(spanEnd(lane, place.i)), left + 3),
      end = on.width - at.right;
  if (right < at.left || left > end) { return; }
  left = Math.max(left, at.left - 1);
  on.pen.strokeStyle = colour;
  on.pen.lineWidth = width;
  on.pen.strokeRect(left, at.top(place.lane) - 1, Math.min(right, end) - left, at.thick() + 2);
}

/* The span at a point of the canvas, or one within three pixels of it, or null. */
function lanesUnder(at, view, px, y) {
  var number = Math.floor(y / at.pitch()), lane = view.lanes[number];
  if (!lane || px < at.left - 2) { return null; }
  var time = at.time(px), i = spanAt(lane, time), slack = 3 * at.perPixel();
  if (i >= 0 && time <= spanEnd(lane, i)) { return { lane: number, i: i }; }
  if (i + 1 < lane.begin.length && lane.begin[i + 1] - time <= slack) { return { lane: number, i: i + 1 }; }
  return i >= 0 && time - spanEnd(lane, i) <= slack ? { lane: number, i: i } : null;
}

/* `view` has lanes, from, to (ns shown), variables (of colours), inside, after, disk, chosen, pointed. */
function lanesPicture(canvas, view) {
  var at = lanesPlaces(canvas, view);
  return {
    draw: function() {
      view.palette = view.variables.map(function(name) { return colourOf(canvas, name); });
      view.colours = coloursOf(canvas, ["ink", "ground", "muted", "hairline", "band", "band2", "elsewhere"]);
      var on = sharp(canvas, at.bottom() + at.ruler + at.axis), pointed = view.pointed, chosen = view.chosen;
      canvas.setAttribute("data-from", String(Math.round(view.from)));
      canvas.setAttribute("data-to", String(Math.round(view.to)));
      lanesTicks(on, at, view);
      view.lanes.forEach(function(_, number) { lanesThread(on, at, view, number); });
      view.others.forEach(function(_, number) { lanesOther(on, at, view, number); });
      lanesRuler(on, at, view);
      lanesArea(on, at, view);
      if (pointed) { lanesFrame(on, at, view.lanes[pointed.lane], pointed, view.colours.muted, 1.5); }
      if (chosen) { lanesFrame(on, at, view.lanes[chosen.lane], chosen, view.colours.ink, 2.5); }
    },
    time: at.time,
    perPixel: at.perPixel,
    at: function(px, y) { return lanesUnder(at, view, px, y); }
  };
}
