/* The timeline's picture: a lane for each thread, time from left to right, drawn on a canvas. */

/* What took most of each column: the number of a colour, -1 where the thread did nothing. */
function columnKinds(lane, from, to, n, nKinds, inside, after) {
  var spent = new Float64Array(n * nKinds), scale = n / (to - from);
  function add(kind, begin, end) {
    var a = Math.max((begin - from) * scale, 0), b = Math.min((end - from) * scale, n), c, stop = Math.ceil(b);
    for (c = Math.floor(a); c < stop; c += 1) { spent[c * nKinds + kind] += Math.min(b, c + 1) - Math.max(a, c); }
  }
  var i = spanAt(lane, from), at;
  for (i = Math.max(i, 0); i < lane.begin.length && lane.begin[i] < to; i += 1) {
    at = lane.begin[i];
    add(lane.kind[i], at, at += lane.work[i]);
    add(inside, at, at += lane.barrier[i]);
    add(after, at, at += lane.wait[i]);
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
  var low = 0, high = lane.begin.length;
  while (low < high) {
    var middle = (low + high) >> 1;
    if (lane.begin[middle] <= time) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1;
}
/* As much of a text as the room holds; what is cut says so. */
function shortened(pen, text, room) {
  if (pen.measureText(text).width <= room) { return text; }
  while (text && pen.measureText(text + "…").width > room) { text = text.slice(0, -1); }
  return text + "…";
}
function spanEnd(lane, i) { return lane.begin[i] + lane.work[i] + lane.barrier[i] + lane.wait[i]; }

/* Where things are: `view` has lanes, from, to (ns shown), palette (names of variables), inside, after, chosen, pointed. */
function lanesPicture(canvas, view) {
  var AXIS = 30, LEFT = 72, RIGHT = 12;
  function pitch() { return view.lanes.length <= 12 ? 42 : view.lanes.length <= 40 ? 22 : 12; }
  function named() { return pitch() > 40; }
  function plot() { return Math.max(canvas.parentNode.clientWidth - LEFT - RIGHT, 10); }
  function top(lane) { return lane * pitch() + (named() ? 16 : 1); }
  function thick() { return pitch() - (named() ? 18 : 2); }
  function x(time) { return LEFT + (time - view.from) / (view.to - view.from) * plot(); }

  function ticks(on) {
    var step = Math.pow(10, Math.floor(Math.log10((view.to - view.from) / plot() * 110)));
    while (step * plot() / (view.to - view.from) < 80) { step *= step.toExponential(0).charAt(0) === "2" ? 2.5 : 2; }
    step = Math.max(step, 1);
    var unit = view.to >= 1e6 ? ["ms", 1e6] : ["µs", 1e3],
        digits = Math.max(0, Math.ceil(-Math.log10(step / unit[1]) - 1e-9));
    var bottom = view.lanes.length * pitch(), time;
    on.pen.textAlign = "center";
    for (time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
      on.pen.fillStyle = view.colours.hairline;
      on.pen.fillRect(Math.round(x(time)), 0, 1, bottom + 4);
      on.pen.fillStyle = view.colours.muted;
      on.pen.fillText(
        group((time / unit[1]).toFixed(digits)), Math.min(Math.max(x(time), LEFT), on.width - 24), bottom + 14);
    }
    on.pen.textAlign = "left";
    on.pen.fillText(unit[0], 0, bottom + 14);
  }

  function lane(on, number) {
    var one = view.lanes[number], n = Math.round(plot() * on.ratio), begun = 0, c, y = top(number);
    var kinds = columnKinds(one, view.from, view.to, n, view.palette.length, view.inside, view.after);
    on.pen.fillStyle = view.colours.muted;
    on.pen.textAlign = "left";
    if (pitch() > 16 || number % 4 === 0) { on.pen.fillText("thread " + one.thread, 0, y + thick() / 2); }
    for (c = 1; c <= n; c += 1) {
      if (c < n && kinds[c] === kinds[begun]) { continue; }
      if (kinds[begun] >= 0) {
        on.pen.fillStyle = view.palette[kinds[begun]];
        on.pen.fillRect(LEFT + begun / on.ratio, y, (c - begun) / on.ratio, thick());
      }
      begun = c;
    }
    var i = Math.max(spanAt(one, view.from), 0), left, right;
    for (; i < one.begin.length && one.begin[i] < view.to; i += 1) {
      left = x(one.begin[i]);
      right = x(spanEnd(one, i));
      if (right - left < 4) { continue; }
      on.pen.fillStyle = view.colours.ground;
      if (left >= LEFT) { on.pen.fillRect(Math.round(left), y, 1, thick()); }
      if (named() && Math.min(right, on.width - RIGHT) - Math.max(left, LEFT) > 40) {
        word(on, one.node[i], Math.max(left, LEFT), Math.min(right, on.width - RIGHT), y);
      }
    }
  }
  function word(on, node, left, right, y) {
    on.pen.save();
    on.pen.beginPath();
    on.pen.rect(left, y - 15, right - left - 3, 15);
    on.pen.clip();
    var text = shortened(on.pen, view.about(node).op.slice(0, 80), right - left - 4);
    on.pen.fillStyle = view.colours.ground;
    on.pen.fillRect(left, y - 15, on.pen.measureText(text).width + 4, 15);
    on.pen.fillStyle = view.colours.muted;
    on.pen.fillText(text, left + 1, y - 7);
    on.pen.restore();
  }
  function frame(on, place, colour, width) {
    if (!place) { return; }
    var one = view.lanes[place.lane], left = x(one.begin[place.i]),
        right = Math.max(x(spanEnd(one, place.i)), left + 3);
    if (right < LEFT || left > on.width - RIGHT) { return; }
    left = Math.max(left, LEFT - 1);
    on.pen.strokeStyle = colour;
    on.pen.lineWidth = width;
    on.pen.strokeRect(left, top(place.lane) - 1, Math.min(right, on.width - RIGHT) - left, thick() + 2);
  }

  return {
    draw: function() {
      var on = sharp(canvas, view.lanes.length * pitch() + AXIS);
      canvas.setAttribute("data-from", String(Math.round(view.from)));
      canvas.setAttribute("data-to", String(Math.round(view.to)));
      ticks(on);
      view.lanes.forEach(function(_, number) { lane(on, number); });
      frame(on, view.pointed, view.colours.muted, 1.5);
      frame(on, view.chosen, view.colours.ink, 2.5);
    },
    time: function(left) { return view.from + (left - LEFT) / plot() * (view.to - view.from); },
    perPixel: function() { return (view.to - view.from) / plot(); },
    /* The span below a point of the canvas, or null; one too thin to be hit counts when it is nearest. */
    at: function(left, y) {
      var lane = Math.floor(y / pitch()), one = view.lanes[lane];
      if (!one || left < LEFT - 2) { return null; }
      var time = this.time(left), i = spanAt(one, time), slack = 3 * this.perPixel();
      if (i >= 0 && time <= spanEnd(one, i)) { return { lane: lane, i: i }; }
      if (i + 1 < one.begin.length && one.begin[i + 1] - time <= slack) { return { lane: lane, i: i + 1 }; }
      return i >= 0 && time - spanEnd(one, i) <= slack ? { lane: lane, i: i } : null;
    }
  };
}
