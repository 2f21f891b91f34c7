/* The rows of the operation table as elements: an op, and its operands if it is open. */
function opCell(row, text, className, bar) {
  var cell = row.appendChild(make("td", className));
  if (bar !== undefined) { cell.appendChild(make("i", "tg-bar")).style.setProperty("--share", bar.toFixed(4)); }
  cell.appendChild(document.createTextNode(text));
  return cell;
}

function opRow(pass, i, longest, groups) {
  var node = pass.node[i], about = opAbout(pass, node), row = make("tr", "tg-op");
  var head = row.appendChild(make("th", "tg-n")), button = head.appendChild(make("button", "", node));
  row.id = "pass=" + pass.id + "&node=" + node;
  row.setAttribute("data-node", node);
  head.scope = "row";
  button.type = "button";
  button.setAttribute("aria-label", "operands of node " + node);
  opCell(row, about.name, "tg-code");
  var op = row.appendChild(make("td", "tg-code", about.op));
  if (pass.note[i]) {
    op.appendChild(document.createTextNode(" "));
    op.appendChild(make("small", "", pass.note[i]));
  }
  opCell(row, about.layer === null ? "" : String(about.layer), "tg-n");
  var component = row.appendChild(make("td")), dot = component.appendChild(make("i", "tg-dot"));
  dot.setAttribute("data-group", groups[about.component] || "other");
  component.appendChild(document.createTextNode(about.component));
  opCell(row, fixed(pass.begin[i], 1e3, 1), "tg-n");
  opCell(row, fixed(pass.duration[i], 1e3, 2), "tg-n", (pass.duration[i] || 0) / longest);
  ["work", "barrier", "wait"].forEach(function(name) { opCell(row, fixed(pass[name][i], 1e3, 2), "tg-n"); });
  ["disk", "copied", "buffer"].forEach(function(name) { opCell(row, fixed(pass[name][i], 1024, 1), "tg-n"); });
  opCell(row, exact(pass.threads[i]), "tg-n");
  opCell(row, readsOf(pass, node), "tg-code");
  opCell(row, usedOf(pass, node), "");
  return row;
}

/* Links to an op on other pages: in the graph, and in the timeline (there the op that it was fused into). */
function opWays(pass, node, graph, pages) {
  var ways = make("p", "tg-note"), into = /^fused into (\d+)$/.exec(pass.note[pass.node.indexOf(node)]);
  var ran = into ? into[1] : node, targets = {
    graph: ["Node " + node + " in the graph", "g" + graph + "-n" + node],
    timeline: [
      into ? "node " + ran + ", which computed it, in the timeline" : "in the timeline",
      "pass=" + pass.id + "&node=" + ran
    ]
  };
  pages.forEach(function(page, i) {
    ways.appendChild(document.createTextNode(i ? " · " : ""));
    ways.appendChild(make("a", "", targets[page][0])).href = "../" + page + "/index.html#" + targets[page][1];
  });
  return ways;
}

function operandRow(used, o, state) {
  var row = make("tr"), slot = row.appendChild(make("th", "", o[0]));
  slot.scope = "row";
  var named = opCell(row, o[1], "tg-code");
  if (state.memory && o[3] !== null && o[5] !== null) {
    var there = make("a", "", named.textContent);
    there.href = "../file/index.html#file=" + o[3] + "&offset=" + o[5];
    there.title = "show this place in the map of the file";
    named.textContent = "";
    named.appendChild(there);
  }
  opCell(row, o[2] === null ? "not recorded" : kindOfMemory(o[2]));
  opCell(row, o[3] !== null ? state.files[o[3]] || "file " + o[3] : o[4] !== null ? "buffer " + o[4] : "—");
  [o[5], o[6], used && used.bytes !== null ? used.bytes : o[7]].forEach(
    function(value) { opCell(row, exact(value), "tg-n"); });
  opCell(row, used ? unitText(used) : "");
  return row;
}

/* A cell with the operands of an op, and links to it on other pages. */
function operandsCell(pass, node, graph, state) {
  var list = operandsOf(pass, node), box = make("td"), ways = opWays(pass, node, graph, state.ways);
  box.colSpan = 16;
  if (!list.length) {
    box.textContent = "No operand was accessed.";
    box.appendChild(ways);
    return box;
  }
  var table = box.appendChild(make("table")), head = make("tr"), rows = make("tbody");
  [["Operand"], ["Tensor"], ["Memory"], ["In"], ["Offset", "bytes"], ["Size", "bytes"], ["Touched", "bytes"],
    ["Touched rows or experts"]]
    .forEach(function(title) {
      var cell = head.appendChild(make("th", title[1] ? "tg-n" : "", title[0]));
      cell.scope = "col";
      if (title[1]) {
        cell.appendChild(document.createTextNode(" "));
        cell.appendChild(make("small", "", title[1]));
      }
    });
  list.forEach(function(o) { rows.appendChild(operandRow(pass.units[node + "." + o[0]], o, state)); });
  table.appendChild(make("thead")).appendChild(head);
  table.appendChild(rows);
  box.appendChild(ways);
  return box;
}
