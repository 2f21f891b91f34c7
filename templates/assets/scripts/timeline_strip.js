/* The run as a strip: a bar for each pass, as high as its duration, divided by what its threads did; a click chooses
   a pass. */
var STRIP_HIGH = 96, STRIP_WORDS = 16;

/* The passes of each bar as [first, last]; several share a bar if there are more passes than pixels. */
function stripBars(n, width) {
  var bars = [], first, last;
  function column(i) { return Math.floor((i + 1) * width / n); }
  for (first = 0; first < n; first = last + 1) {
    last = first;
    while (last + 1 < n && column(last + 1) === column(first)) { last += 1; }
    bars.push([first, last]);
  }
  return bars;
}
/* The pass that took longest among those of a bar. */
function stripWorst(list, first, last) {
  return list.slice(first, last + 1)
    .reduce(function(worst, pass) { return (pass.ns || 0) > (worst.ns || 0) ? pass : worst; });
}
function stripBar(on, x, wide, worst, lit, highest, colours) {
  var high = Math.max(Math.min((worst.ns || 0) / highest, 1) * (STRIP_HIGH - 8), 2);
  var broad = wide > 4 ? wide - 1 : wide, y = STRIP_HIGH;
  on.pen.globalAlpha = worst.chunk === null && !lit ? 0.4 : 1;
  on.pen.fillStyle = colours.band2;
  on.pen.fillRect(x, STRIP_HIGH - high, broad, high);
  (worst.parts || []).forEach(function(share, kind) {
    if (!share) { return; }
    on.pen.fillStyle = colours.parts[kind];
    on.pen.fillRect(x, y -= high * share / 1000, broad, high * share / 1000);
  });
  on.pen.globalAlpha = 1;
  if (worst.ns > highest) {
    on.pen.fillStyle = colours.ground;
    on.pen.fillRect(x, 16, wide, 3);
  }
  if (lit) {
    on.pen.fillStyle = colours.ink;
    on.pen.fillRect(x, STRIP_HIGH + 1, Math.max(wide, 3), 3);
  }
}
/* The kinds of passes below their bars, where there is room. */
function stripKinds(on, list, colours) {
  var first = 0, i, width = on.width / list.length;
  on.pen.fillStyle = colours.muted;
  on.pen.textAlign = "left";
  for (i = 1; i <= list.length; i += 1) {
    if (i < list.length && list[i].kind === list[first].kind) { continue; }
    if (on.pen.measureText(list[first].kind).width <= (i - first) * width - 4) {
      on.pen.fillText(list[first].kind, first * width, STRIP_HIGH + STRIP_WORDS / 2 + 4);
    }
    first = i;
  }
}

/* What the threads did in a pass, the largest shares first, in words. */
function stripParts(pass, names) {
  var shares = (pass.parts || []).map(function(share, kind) { return [share, names[kind]]; });
  return shares.filter(function(pair) { return pair[0] >= 10; })
    .sort(function(a, b) { return b[0] - a[0]; })
    .slice(0, 5)
    .map(function(pair) { return pair[1] + " " + Math.round(pair[0] / 10) + "\u202f%"; })
    .join(", ");
}
function stripPicture(canvas, state, about, choose) {
  var chosen = null, pointed = null, list = state.passes;
  var variables = state.parts.map(function(name) { return state.colours[name]; });
  var common = list.filter(function(pass) { return pass.kind === "generate"; });
  var highest =
    (common.length ? common : list).reduce(function(most, pass) { return Math.max(most, pass.ns || 0); }, 1);
  var cut = list.some(function(pass) { return pass.ns > highest; });

  var soon = redrawn(function() {
    var on = sharp(canvas, STRIP_HIGH + STRIP_WORDS + 2), width = on.width / list.length;
    var colours = coloursOf(canvas, ["ink", "band2", "ground", "muted"]);
    colours.parts = variables.map(function(name) { return colourOf(canvas, name); });
    stripBars(list.length, on.width).forEach(function(bar) {
      var lit = list.slice(bar[0], bar[1] + 1).some(function(pass) { return pass.id === chosen; });
      var wide = Math.max((bar[1] - bar[0] + 1) * width, 1);
      stripBar(on, bar[0] * width, wide, stripWorst(list, bar[0], bar[1]), lit, highest, colours);
    });
    stripKinds(on, list, colours);
  });
  function below(event) {
    var box = canvas.getBoundingClientRect();
    var i = Math.floor((event.clientX - box.left) / box.width * list.length);
    return list[Math.min(Math.max(i, 0), list.length - 1)];
  }
  function tell() {
    var pass = pointed || list.filter(function(candidate) { return candidate.id === chosen; })[0];
    if (!pass) { return; }
    about.textContent = "Pass " + pass.id + ", " + pass.label + " (" + pass.kind +
      (pass.outside ? ", left out of every statistic" : "") + "): " + took(pass.ns) +
      (stripParts(pass, state.parts) ? " (" + stripParts(pass, state.parts) + ")" : "") +
      (pass.chunk === null ? "; this page does not hold its threads’ times" : "") +
      ". The strip has one bar per pass, " + list.length + (list.length === 1 ? " pass" : " passes") +
      " in all; full height is " + took(highest) + (cut ? "; longer bars are cut, with a gap across" : "") + ".";
  }
  canvas.addEventListener("pointermove", function(event) {
    pointed = below(event);
    tell();
  });
  canvas.addEventListener("pointerleave", function() {
    pointed = null;
    tell();
  });
  canvas.addEventListener("click", function(event) {
    var pass = below(event);
    if (pass.chunk !== null) { choose(pass.id); }
  });
  return function(id) {
    chosen = id;
    pointed = null;
    tell();
    soon();
  };
}
