/* The lens of the memory explorer, and the list of operations that access a tensor. */

/* The lens: blocks around the mark, sixteen times wider than in the picture, with names. */
function memoryLens(lens, lane, mark, look, book) {
  var on = sharp(lens, 36), pen = on.pen;
  if (!lane) { return; }
  var span = (look.to - look.from) / 16, middle = mark.block.from + mark.block.size / 2, from = middle - span / 2,
      per = on.width / span;
  var ink = colourOf(lens, "--tg-ink"), hatch = memoryHatch(pen, colourOf(lens, "--tg-ground"));
  lane.blocks.forEach(function(block) {
    var a = (block.from - from) * per, b = a + Math.max(block.size * per, 2);
    if (b < 0 || a > on.width || !block.sums) { return; }
    var value = memoryWorth(block, lane, look.quantity), name = look.scale.colours[look.scale.step(value)];
    pen.fillStyle = value === null ? ink : colourOf(lens, value === 0 ? "--tg-band" : name);
    pen.fillRect(a, 0, b - a - 1, 16);
    if (block.sums.copied) {
      pen.fillStyle = hatch;
      pen.fillRect(a, 0, b - a - 1, 16);
    }
    var text = block.piece ? block.piece.name + (block.piece.expert === null ? "" : " " + block.piece.expert) :
                             book.rows[block.row].label;
    a = Math.max(a, 0);
    b = Math.min(b, on.width);
    pen.fillStyle = ink;
    if (pen.measureText(text).width < b - a - 6) { pen.fillText(text, a + 2, 26); }
  });
  pen.strokeStyle = ink;
  pen.lineWidth = 2;
  pen.strokeRect((mark.block.from - from) * per, 1, Math.max(mark.block.size * per - 1, 2), 15);
}

/* Lists the operations of `pass` (an entry of the explorer's list) that access the tensor at `offset` of the piece's
   file; `graphs`: whether the graph page shows them too. */
function memoryLog(box, status, data, pass, piece, offset, graphs) {
  var entry = { id: pass[0], chunk: pass[2], static: pass[3] };
  function row(whole, node, o) {
    var used = whole.units[node + "." + o[0]], line = make("tr"), first = make("th"), link = make("a", "", node),
        about = whole.known.about[node];
    link.href = "../operations/index.html#pass=" + entry.id + "&node=" + node;
    first.scope = "row";
    first.appendChild(link);
    line.appendChild(first);
    [about.op, about.name, o[0]].forEach(function(text) { line.appendChild(make("td", "tg-code", text)); });
    line.appendChild(make("td", "tg-n", exact(used && used.bytes !== null ? used.bytes : o[7])));
    line.appendChild(make("td", "", used ? unitText(used) : "whole"));
    if (graphs) {
      var way = line.appendChild(make("td")).appendChild(make("a", "", "node " + node));
      way.href = "../graph/index.html#g" + pass[5] + "-n" + node;
    }
    return line;
  }
  status.textContent = "Loading …";
  loadPass(entry, data + "ops/",
    function() {
      var whole = passOf(entry.id, entry.static), table = make("table", "tg-table"), head = make("tr"),
          body = make("tbody");
      status.textContent = "";
      ["Node", "Operation", "Result", "Operand", "Touched bytes", "Touched rows or experts"]
        .concat(graphs ? ["In the graph"] : [])
        .forEach(function(title) {
          var th = make("th", "", title);
          th.scope = "col";
          head.appendChild(th);
        });
      whole.node.forEach(function(node) {
        operandsOf(whole, node).forEach(function(o) {
          if (o[3] === piece.file && o[5] === offset) { body.appendChild(row(whole, node, o)); }
        });
      });
      box.textContent = "";
      box.appendChild(make("p", "tg-title", "Operations of " + pass[1] + " that access " + piece.name));
      if (!body.firstChild) {
        box.appendChild(make("p", "tg-reason", "No operation of this pass accessed it."));
      } else {
        table.appendChild(make("thead")).appendChild(head);
        table.appendChild(body);
        box.appendChild(table);
      }
      box.hidden = false;
    },
    function() { status.textContent = "The operations could not be loaded."; });
}
