/* Of a long table only the rows that can be seen are there; room above and below stands for the others. On paper all are.

   `entries` have `open` and `extra` (the height of what is unfolded); `make(entry)` gives its rows: one, or two when open. */
function opWindow(scroller, body, make) {
  var BEYOND = 12, height = 28, entries = [], tops = [0], from = 0, to = 0, whole = false;

  function measure() {
    tops = [0];
    entries.forEach(function(entry, i) { tops.push(tops[i] + height + (entry.open ? entry.extra : 0)); });
  }
  /* The entry at so many pixels below the first. */
  function at(y) {
    var low = 0, high = entries.length;
    while (low < high) {
      var middle = (low + high) >> 1;
      if (tops[middle + 1] <= y) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  function room(pixels) {
    var row = document.createElement("tr"), cell = document.createElement("td");
    row.className = "tg-room";
    row.setAttribute("aria-hidden", "true");
    cell.colSpan = 16;
    cell.style.height = pixels + "px";
    row.appendChild(cell);
    return row;
  }
  function render() {
    var made = document.createDocumentFragment(), focus = document.activeElement;
    from = whole ? 0 : Math.max(0, at(scroller.scrollTop) - BEYOND);
    to = whole ? entries.length : Math.min(entries.length, at(scroller.scrollTop + scroller.clientHeight) + BEYOND);
    made.appendChild(room(tops[from]));
    entries.slice(from, to).forEach(function(entry, i) {
      make(entry).forEach(function(row, k) {
        if (k === 0) { row.setAttribute("aria-rowindex", String(from + i + 2)); }
        made.appendChild(row);
      });
    });
    made.appendChild(room(tops[entries.length] - tops[to]));
    body.textContent = "";
    body.appendChild(made);
    if (focus && body.contains(focus)) { focus.focus({ preventScroll: true }); }
  }
  /* What was drawn may be higher than was thought. */
  function settle() {
    var first = body.querySelector("tr.tg-op"), changed = false, own = first ? first.getBoundingClientRect().height : 0;
    if (own && Math.abs(own - height) > 0.01) {
      height = own;
      changed = true;
    }
    entries.slice(from, to).forEach(function(entry) {
      var extra = entry.open ? make(entry)[1].getBoundingClientRect().height : 0;
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
