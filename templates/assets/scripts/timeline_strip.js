/* The run as a strip: a bar for each pass as high as it took long; one is chosen by pointing. */
function stripPicture(canvas, list, told, choose) {
  var HEIGHT = 56, WORDS = 16, chosen = null, pointed = null;
  var common = list.filter(function(pass) { return pass.kind === "generate"; });
  var highest =
    (common.length ? common : list).reduce(function(most, pass) { return Math.max(most, pass.ns || 0); }, 1);
  var cut = list.some(function(pass) { return pass.ns > highest; });

  function bar(on, first, last, colours) {
    var worst = list[first], i, width = on.width / list.length;
    for (i = first; i <= last; i += 1) {
      if ((list[i].ns || 0) > (worst.ns || 0)) { worst = list[i]; }
    }
    var high = Math.max(Math.min((worst.ns || 0) / highest, 1) * (HEIGHT - 8), 2),
        wide = Math.max((last - first + 1) * width, 1);
    var lit = false;
    for (i = first; i <= last; i += 1) { lit = lit || list[i].id === chosen; }
    on.pen.globalAlpha = worst.chunk === null && !lit ? 0.4 : 1;
    on.pen.fillStyle = lit ? colours.ink : worst.outside ? colours.after : colours.bar;
    on.pen.fillRect(first * width, HEIGHT - high, wide > 4 ? wide - 1 : wide, high);
    on.pen.globalAlpha = 1;
    if (worst.ns > highest) {
      on.pen.fillStyle = colours.ground;
      on.pen.fillRect(first * width, 16, wide, 3);
    }
    if (lit) {
      on.pen.fillStyle = colours.ink;
      on.pen.fillRect(first * width, HEIGHT + 1, Math.max(wide, 3), 3);
    }
  }
  function words(on, colours) {
    var first = 0, i, width = on.width / list.length, room;
    on.pen.fillStyle = colours.muted;
    on.pen.textAlign = "left";
    for (i = 1; i <= list.length; i += 1) {
      if (i < list.length && list[i].kind === list[first].kind) { continue; }
      room = (i - first) * width - 4;
      if (on.pen.measureText(list[first].kind).width <= room) {
        on.pen.fillText(list[first].kind, first * width, HEIGHT + WORDS / 2 + 4);
      }
      first = i;
    }
  }
  function draw() {
    var on = sharp(canvas, HEIGHT + WORDS + 2), colours = {}, last = -1, i, column;
    ["ink", "bar", "after", "ground", "muted"].forEach(function(
      name) { colours[name] = colourOf(canvas, "--tg-" + name); });
    for (i = 0; i < list.length; i = last + 1) {
      column = Math.floor((i + 1) * on.width / list.length);
      last = i;
      while (last + 1 < list.length && Math.floor((last + 2) * on.width / list.length) === column) { last += 1; }
      bar(on, i, last, colours);
    }
    words(on, colours);
  }
  var soon = redrawn(draw);
  function below(event) {
    var box = canvas.getBoundingClientRect();
    return list[Math.min(
      Math.max(Math.floor((event.clientX - box.left) / box.width * list.length), 0), list.length - 1)];
  }
  function tell() {
    var pass = pointed || list.filter(function(one) { return one.id === chosen; })[0];
    if (!pass) { return; }
    told.textContent = "Pass " + pass.id + ", " + pass.label + " (" + pass.kind +
      (pass.outside ? ", outside every statistic" : "") + "): " + took(pass.ns) +
      (pass.chunk === null ? "; its threads’ times are not carried by this page" : "") +
      ". The strip has a bar for each of " + list.length + (list.length === 1 ? " pass" : " passes") + ", " +
      took(highest) + " at full height" + (cut ? "; longer ones are cut, with a gap across" : "") + ".";
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
