/* A long table has elements only for visible rows, and empty space above and below for the others. In print all rows
   have elements. */
var BEYOND = 12;

/* The distance of each entry from the first in pixels, and the end of the last one. */
function opTops(entries, height) {
  var tops = [0];
  entries.forEach(function(entry, i) { tops.push(tops[i] + height + (entry.open ? entry.extra : 0)); });
  return tops;
}
/* The index of the entry at `y` pixels below the start of the first. */
function opAt(tops, y) {
  return firstWhere(tops.length - 1, function(i) { return tops[i + 1] > y; });
}
function opRoom(pixels) {
  var row = make("tr", "tg-room"), cell = row.appendChild(make("td"));
  row.setAttribute("aria-hidden", "true");
  cell.colSpan = 16;
  cell.style.height = pixels + "px";
  return row;
}

/* The box ends with a whole row: half a row below the sums could be neither read nor pressed. */
function opFit(scroller, height) {
  var head = scroller.querySelector("thead"), foot = scroller.querySelector("tfoot");
  var edge = head.offsetHeight + foot.offsetHeight + scroller.offsetHeight - scroller.clientHeight;
  var rows = Math.max(3, Math.floor((0.42 * window.innerHeight - edge) / height));
  scroller.style.maxHeight = edge + rows * height + "px";
}

/* An entry has `open` and `extra` (the height of its operands); `rowsOf(entry)` returns its rows: one, or two if it is
   open. */
function opWindow(scroller, body, rowsOf) {
  var height = 28, entries = [], tops = [0], from = 0, to = 0, whole = false;

  function measure() { tops = opTops(entries, height); }
  function at(y) { return opAt(tops, y); }
  function render() {
    var rows = document.createDocumentFragment(), focus = document.activeElement;
    from = whole ? 0 : Math.max(0, at(scroller.scrollTop) - BEYOND);
    to = whole ? entries.length : Math.min(entries.length, at(scroller.scrollTop + scroller.clientHeight) + BEYOND);
    rows.appendChild(opRoom(tops[from]));
    entries.slice(from, to).forEach(function(entry, i) {
      rowsOf(entry).forEach(function(row, k) {
        if (k === 0) { row.setAttribute("aria-rowindex", String(from + i + 2)); }
        rows.appendChild(row);
      });
    });
    rows.appendChild(opRoom(tops[entries.length] - tops[to]));
    body.textContent = "";
    body.appendChild(rows);
    if (focus && body.contains(focus)) { focus.focus({ preventScroll: true }); }
  }
  /* Measures the drawn rows and draws again if their heights differ from the assumed ones. */
  function settle() {
    var first = body.querySelector("tr.tg-op"), changed = false,
        measured = first ? first.getBoundingClientRect().height : 0;
    if (measured && Math.abs(measured - height) > 0.01) {
      height = measured;
      changed = true;
    }
    entries.slice(from, to).forEach(function(entry) {
      var extra = entry.open ? rowsOf(entry)[1].getBoundingClientRect().height : 0;
      if (entry.open && Math.abs(extra - entry.extra) > 0.5) {
        entry.extra = extra;
        changed = true;
      }
    });
    if (changed) {
      measure();
      render();
    }
  }
  function draw() {
    measure();
    render();
    settle();
    opFit(scroller, height);
  }
  function set(list) {
    entries = list;
    draw();
  }
  function reveal(entry) {
    var i = entries.indexOf(entry);
    if (i >= 0) {
      scroller.scrollTop = tops[i] - scroller.clientHeight / 3;
      render();
    }
  }
  scroller.addEventListener("scroll", function() {
    var first = at(scroller.scrollTop), last = at(scroller.scrollTop + scroller.clientHeight);
    if (first < from || last > to || (from > 0 && first - from < 3) || (to < entries.length && to - last < 3)) {
      render();
      settle();
    }
  });
  window.addEventListener("resize", draw);
  window.addEventListener("beforeprint", function() {
    whole = true;
    render();
  });
  window.addEventListener("afterprint", function() {
    whole = false;
    draw();
  });
  return { set: set, draw: draw, reveal: reveal };
}
