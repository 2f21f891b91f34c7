/* What drawings show of the chosen pass: the picture of the file frames its row; the others say that they show all. */

/* The row of a pass among `rows`: [first pass, left, top, right, bottom] in px of the drawing, in order of passes, or
   null. A row stands for its first pass and for those after it up to the next row. */
function figureRow(rows, pass) {
  var next = firstWhere(rows.length, function(i) { return rows[i][0] > pass; });
  return next ? rows[next - 1] : null;
}
/* The rows of a layout, as of `figureRow`, and the group whose px they are in; null: it has none. */
function figureRows(svg, book) {
  var named = /tg-at-(\d+)/.exec(svg.getAttribute("class") || ""), inner = svg.querySelector("g[transform]"),
      rows = inner && (book.rows || {})[named ? named[1] : "0"];
  return rows ? { inner: inner, rows: rows } : null;
}
/* The pass whose row is at a point of the screen, or undefined: all of a row can be pressed, its name and numbers, too.
 */
function figurePassAt(drawing, book, x, y) {
  var svg = figureShown(drawing), of = svg && figureRows(svg, book), place;
  if (!of) { return undefined; }
  place = new DOMPoint(x, y).matrixTransform(of.inner.getScreenCTM().inverse());
  return of.rows.filter(function(row) { return row[2] <= place.y && place.y <= row[4]; })
    .map(function(row) { return row[0]; })[0];
}
/* Frames the row of a pass in each layout of a drawing; `pass` undefined: in none. */
function figureFrame(drawing, book, pass) {
  var ROOM = 1.5;
  drawing.querySelectorAll(".tg-chosen-row").forEach(function(old) { old.remove(); });
  if (pass === undefined) { return; }
  drawing.querySelectorAll(":scope > svg").forEach(function(svg) {
    var of = figureRows(svg, book), at = of && figureRow(of.rows, pass), frame;
    if (!at) { return; }
    frame = of.inner.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "rect"));
    frame.setAttribute("class", "tg-chosen-row");
    frame.setAttribute("x", at[1] - ROOM);
    frame.setAttribute("y", at[2] - ROOM);
    frame.setAttribute("width", at[3] - at[1] + 2 * ROOM);
    frame.setAttribute("height", at[4] - at[2] + 2 * ROOM);
  });
}

/* Says below the title of a figure that it shows all tokens, and where the chosen one is; no `pass`: says nothing. */
function figureOfAll(figure, pass, up) {
  var old = figure.querySelector(".tg-of-all"), line, words;
  if (old) { old.remove(); }
  if (pass === undefined) { return; }
  line = make("p", "tg-of-all", "all tokens; for " + selectionNames.pass(pass) + " see the ");
  words = Object.assign(selected(addressWords()), { at: "tab-token" });
  line.appendChild(make("a", "", "operations")).href = up + "operations/index.html#" + addressText(words);
  figure.querySelector(".tg-title").insertAdjacentElement("afterend", line);
}

/* Explorers that follow the chosen pass: where a page has one, its drawings need not say where the pass is. */
var FOLLOWING = "[data-tg=operations], [data-tg=timeline], [data-tg=experts]";
ends.push(function() {
  var bar = document.querySelector("[data-tg=selection]"), framed = "[data-key=file-tokens]";
  if (!bar) { return; }
  function follow() {
    var pass = selected(addressWords()).pass, picture = document.querySelector(framed),
        known = pass !== undefined && bar.getAttribute("data-passes") &&
      passNamed(JSON.parse(bar.getAttribute("data-passes")), pass).indexOf("lacks") < 0;
    document.querySelectorAll("figure.tg-figure:has(> .tg-drawing[data-targets])").forEach(function(figure) {
      if (figure.querySelector(framed) || document.querySelector(FOLLOWING)) { return; }
      figureOfAll(figure, known ? pass : undefined, bar.getAttribute("data-up"));
    });
    if (!picture) { return; }
    if (!known) {
      figureFrame(picture, null, undefined);
      return;
    }
    scripts(figureTargets(picture), function() { figureFrame(picture, figureSpecs["file-tokens"], address().pass); },
      function() {});
  }
  if (document.querySelector(framed)) {
    document.querySelector(framed).addEventListener("click", function(event) {
      var picture = event.currentTarget;
      scripts(figureTargets(picture),
        function() {
          var pass = figurePassAt(picture, figureSpecs["file-tokens"], event.clientX, event.clientY);
          if (pass !== undefined) { choose({ pass: pass }); }
        },
        function() {});
    });
  }
  whenSelected(follow);
  follow();
});
