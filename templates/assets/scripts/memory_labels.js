/* The words of the memory explorer: its legend, the ends of its axis, the facts of the marked block. */
function memoryValue(name, value, n) {
  if (value === null || value === undefined) { return "not recorded"; }
  if (name === "share") { return three(100 * value) + " %"; }
  return name.endsWith("_ns") ? took(value / n) : name === "n_uses" ? three(value / n) : bytesOf(value / n);
}

function memoryEnds(now) {
  var look = now.look, rows = now.book.rows, of = " of tensors";
  if (now.view === "matrix") {
    look.left = rows[Math.max(0, Math.floor(look.from))].label;
    look.right = rows[Math.min(rows.length, Math.ceil(look.to)) - 1].label;
    return;
  }
  if (now.view === "layers") { of = " of a layer"; }
  if (now.view === "tokens" && now.order === "file") { of = " of the file"; }
  var from = bytesOf(Math.round(look.from)), to = bytesOf(Math.round(look.to));
  look.left = from;
  look.right = (from === to ? "+ " + bytesOf(Math.round(look.to - look.from)) : to) + of;
}

function memoryEnd(name, end) { return memoryValue(name, name.endsWith("_ns") ? Math.round(end) : end, 1); }
function memoryLegend(now) {
  var list = now.part("legend"), sum = now.passes.chosen.mode === "sum" && now.view === "layers";
  list.textContent = "";
  var each = sum && now.quantity !== "share" ? ", added up" : " per pass";
  var scale = now.look.scale.kind + " (0: no colour), up to";
  list.appendChild(make("li", "", MEMORY_NAMES[now.quantity] + each + "; " + scale));
  now.look.scale.ends.forEach(function(end, i) {
    var item = make("li"), swatch = make("i", "tg-swatch");
    swatch.style.background = "var(" + now.look.scale.colours[i] + ")";
    item.appendChild(swatch);
    item.appendChild(document.createTextNode(memoryEnd(now.quantity, end)));
    list.appendChild(item);
  });
}
function memoryControls(now) {
  var part = now.part, chosen = now.passes.chosen;
  part("slide").hidden = now.view !== "layers" || chosen.mode === "all";
  part("from").hidden = chosen.mode !== "mean" && chosen.mode !== "sum";
  part("order").disabled = now.view !== "tokens";
  part("rows-of").hidden = now.view !== "tokens" || now.pages.length < 2;
  part("first").max = part("slider").max = now.book.data.passes.length - 1;
  part("first").value = chosen.from;
  part("slider").value = chosen.to;
  part("at").textContent = now.passes.words();
}

function memoryPieceFacts(book, piece) {
  return [
    ["Tensor", piece.name + (piece.expert === null ? "" : ", expert " + piece.expert)],
    ["Layer", piece.layer === null ? "none" : String(piece.layer)], ["Component", piece.component],
    ["Type", piece.dtype], ["Offset in " + book.data.files[piece.file][0], exact(piece.offset)],
    ["Size", bytesOf(piece.size) + " (" + exact(piece.size) + " bytes)"]
  ];
}
/* `3.12 % (512 of 16,384 bytes)` */
function memoryUsedOf(block, passes) {
  var whole = block.bytes || block.size, used = block.sums ? block.sums.used_bytes / passes : 0;
  return three(100 * used / whole) + " % (" + exact(Math.round(used)) + " of " + exact(whole) + " bytes)";
}
/* The facts of the marked block: pairs of a name and a value. */
function memoryFacts(now) {
  var mark = now.mark, book = now.book, tokens = now.view === "tokens";
  if (!mark) { return [["", "Point at a block, or choose a tensor."]]; }
  var lane = now.layout.lanes[mark.lane], sums = mark.block.sums, n = mark.block.n || lane.n,
      passes = mark.block.n || lane.passes || lane.n;
  var facts = mark.piece ? memoryPieceFacts(book, mark.piece) :
                           [["Layer", lane.name], ["Tokens", book.rows[mark.block.row].label]];
  facts.push([tokens ? lane.name : "Memory", sums ? kindOfMemory(sums.copied ? "copied" : "disk") : "not touched"]);
  Object.keys(MEMORY_NAMES).forEach(function(name) {
    if (book.data.top[name] === undefined && name !== "share") { return; }
    var title = MEMORY_NAMES[name][0].toUpperCase() + MEMORY_NAMES[name].slice(1);
    if (name === "share") {
      facts.push([title + (passes > 1 ? ", mean of " + passes : ""), memoryUsedOf(mark.block, passes)]);
      return;
    }
    facts.push([title + (n > 1 ? ", mean of " + n : ""), sums ? memoryValue(name, sums[name], n) : "0"]);
  });
  if (tokens && lane.row.buffers) {
    var held = lane.row.buffers;
    facts.push([
      "Touched in buffers in this row (a byte touched twice counts twice)",
      Object.keys(held).map(function(k) { return k + " " + bytesOf((held[k] || 0) / n); }).join(", ") || "none"
    ]);
  }
  return facts;
}
function memoryTell(now) {
  var list = now.part("about");
  list.textContent = "";
  memoryFacts(now).forEach(function(pair) {
    var box = make("div");
    box.appendChild(make("dt", "", pair[0]));
    box.appendChild(make("dd", "", pair[1]));
    list.appendChild(box);
  });
}
