/* The table of operations: other passes on demand, operands that unfold, addresses of single operations. What sorts,
   filters, adds up and copies its rows stands in op_rows.js, what finds a tensor in the whole run in op_find.js. */
function operations(state) {
  var root = document.getElementById("tab-operations"), scroller = root.querySelector("[data-tg=table]");
  if (!scroller) { return; }
  function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
  function tell(text) { part("status").textContent = text; }
  var body = part("rows"), order = state.passes, shown = null, wanted = null, chosen, place = {};
  order.forEach(function(pass, i) { place[pass.id] = i; });
  tracegenStatic(state.first.static);
  tracegenChunk([state.first.pass]);
  scroller.hidden = part("controls").hidden = part("tools").hidden = false;
  var view = opWindow(scroller, body, rowsOf);
  var tools = opRows(root, view, said), find = opFind(root, state, function() { return shown; });

  function cell(row, text, className, bar) {
    var made = make("td", className);
    if (bar !== undefined) {
      var line = make("i", "tg-bar");
      line.style.setProperty("--share", bar.toFixed(4));
      made.appendChild(line);
    }
    made.appendChild(document.createTextNode(text));
    row.appendChild(made);
    return made;
  }

  function opRow(pass, i, longest) {
    var node = pass.node[i], about = pass.known.about[node] || { op: "", name: "", layer: null, component: "other" };
    var row = make("tr", "tg-op"), head = make("th", "tg-n"), button = make("button", "", node);
    row.id = "pass=" + pass.id + "&node=" + node;
    row.setAttribute("data-node", node);
    head.scope = "row";
    button.type = "button";
    button.setAttribute("aria-label", "operands of node " + node);
    head.appendChild(button);
    row.appendChild(head);
    cell(row, about.name, "tg-code");
    var op = make("td", "tg-code", about.op);
    if (pass.note[i]) {
      op.appendChild(document.createTextNode(" "));
      op.appendChild(make("small", "", pass.note[i]));
    }
    row.appendChild(op);
    cell(row, about.layer === null ? "" : String(about.layer), "tg-n");
    var component = make("td"), dot = make("i", "tg-dot");
    dot.setAttribute("data-group", state.groups[about.component] || "other");
    component.appendChild(dot);
    component.appendChild(document.createTextNode(about.component));
    row.appendChild(component);
    cell(row, fixed(pass.begin[i], 1e3, 1), "tg-n");
    cell(row, fixed(pass.duration[i], 1e3, 2), "tg-n", (pass.duration[i] || 0) / longest);
    ["work", "barrier", "wait"].forEach(function(name) { cell(row, fixed(pass[name][i], 1e3, 2), "tg-n"); });
    ["disk", "copied", "buffer"].forEach(function(name) { cell(row, fixed(pass[name][i], 1024, 1), "tg-n"); });
    cell(row, exact(pass.threads[i]), "tg-n");
    cell(row, readsOf(pass, node), "tg-code");
    cell(row, usedOf(pass, node), "");
    return row;
  }

  /* The rows of an entry of the tools' model: its op, and its operands when it is open. */
  function rowsOf(entry) {
    var pass = tools.pass();
    if (!entry.row) { entry.row = tools.arranged(opRow(pass, entry.i, entry.longest)); }
    entry.row.classList.toggle("tg-chosen", entry.at.node === chosen);
    entry.row.querySelector("button").setAttribute("aria-expanded", String(entry.open));
    if (!entry.open) { return [entry.row]; }
    if (!entry.detail) {
      entry.detail = make("tr", "tg-detail tg-open");
      entry.detail.appendChild(operands(entry.at.node));
    }
    return [entry.row, entry.detail];
  }

  function operands(node) {
    var pass = tools.pass(), list = operandsOf(pass, node), box = make("td");
    box.colSpan = 16;
    var ways = make("p", "tg-note");
    var into = /^fused into (\d+)$/.exec(pass.note[pass.node.indexOf(node)]), ran = into ? into[1] : node;
    var targets = {
      graph: ["Node " + node + " in the graph", "g" + order[place[shown]].graph + "-n" + node],
      timeline: [
        into ? "node " + ran + ", which did its work, in the timeline" : "in the timeline",
        "pass=" + shown + "&node=" + ran
      ]
    };
    state.ways.forEach(function(page, i) {
      var link = make("a", "", targets[page][0]);
      link.href = "../" + page + "/index.html#" + targets[page][1];
      ways.appendChild(document.createTextNode(i ? " · " : ""));
      ways.appendChild(link);
    });
    if (!list.length) {
      box.textContent = "No operand was accessed.";
      box.appendChild(ways);
      return box;
    }
    var table = make("table"), head = make("tr"), rows = make("tbody");
    [["Operand"], ["Tensor"], ["Memory"], ["In"], ["Offset", "bytes"], ["Size", "bytes"], ["Touched", "bytes"],
      ["Used"]]
      .forEach(function(title) {
        var made = make("th", title[1] ? "tg-n" : "", title[0]);
        made.scope = "col";
        if (title[1]) {
          made.appendChild(document.createTextNode(" "));
          made.appendChild(make("small", "", title[1]));
        }
        head.appendChild(made);
      });
    list.forEach(function(o) {
      var used = pass.units[node + "." + o[0]], row = make("tr"), slot = make("th", "", o[0]);
      var touched = used && used.bytes !== null ? used.bytes : o[7];
      slot.scope = "row";
      row.appendChild(slot);
      var named = cell(row, o[1], "tg-code");
      if (state.memory && o[3] !== null && o[5] !== null) {
        var there = make("a", "", named.textContent);
        there.href = "../memory/index.html#file=" + o[3] + "&offset=" + o[5];
        there.title = "where it lies in memory";
        named.textContent = "";
        named.appendChild(there);
      }
      cell(row, o[2] === null ? "not recorded" : o[2]);
      cell(row, o[3] !== null ? state.files[o[3]] || "file " + o[3] : o[4] !== null ? "buffer " + o[4] : "—");
      [o[5], o[6], touched].forEach(function(value) { cell(row, exact(value), "tg-n"); });
      cell(row, used ? unitText(used) : "");
      rows.appendChild(row);
    });
    table.appendChild(make("thead")).appendChild(head);
    table.appendChild(rows);
    box.appendChild(table);
    box.appendChild(ways);
    return box;
  }

  function mark(node) {
    var entry = node === undefined ? undefined : tools.entry(node);
    chosen = entry ? node : undefined;
    if (node !== undefined && !entry) { tell("Pass " + shown + " lists no node " + node + "."); }
    if (entry && entry.hidden) { tell("The filter hides node " + node + "."); }
    if (entry) { entry.open = true; }
    view.draw();
    if (entry && !entry.hidden) {
      view.reveal(entry);
      root.scrollIntoView({ block: "start" });
    }
  }

  function put(id) {
    shown = id;
    tools.take(passOf(id, order[place[id]].static));
    part("label").textContent = order[place[id]].label;
    part("about").textContent = order[place[id]].about;
    tell("");
    controls();
  }

  function show(id, node) {
    wanted = id;
    if (id === shown) {
      tell("");
      mark(node);
      return;
    }
    tell("Loading …");
    loadPass(order[place[id]], state.data,
      function() {
        if (wanted !== id) { return; }
        if (!passOf(id, order[place[id]].static)) {
          tell("The rows of pass " + id + " are missing.");
          return;
        }
        put(id);
        mark(node);
      },
      function() { tell("The rows of pass " + id + " could not be loaded."); });
  }

  function controls() {
    part("choose").value = String(shown);
    part("previous").disabled = place[shown] === 0;
    part("next").disabled = place[shown] === order.length - 1;
    find.passChanged();
  }
  /* The address holds the pass, the chosen node, and what the tools say of filters, order and columns. */
  function said(id) {
    var words = ["pass=" + (id === undefined ? shown : id)];
    if (chosen !== undefined) { words.push("node=" + chosen); }
    history.replaceState(null, "", "#" + words.concat(tools.words()).join("&"));
  }
  function go(id) {
    said(id);
    show(id, chosen);
  }
  function step(by) {
    var next = order[place[shown] + by];
    if (next) { go(next.id); }
  }
  function follow() {
    var to = address();
    tools.restore(addressWords());
    if (to.pass === undefined) { return; }
    if (place[to.pass] === undefined) {
      tell("This run has no pass " + to.pass + " with operations.");
      return;
    }
    show(to.pass, to.node);
  }

  part("choose").addEventListener("change", function(event) { go(parseInt(event.target.value, 10)); });
  part("previous").addEventListener("click", function() { step(-1); });
  part("next").addEventListener("click", function() { step(1); });
  body.addEventListener("click", function(event) {
    var row = event.target.closest("tr.tg-op");
    if (!row || !event.target.closest("button")) { return; }
    var entry = tools.entry(parseInt(row.getAttribute("data-node"), 10));
    entry.open = !entry.open;
    chosen = entry.at.node;
    view.draw();
    said();
  });
  document.addEventListener("keydown", function(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
      return;
    }
    if (event.key === "n") {
      step(1);
    } else if (event.key === "p") {
      step(-1);
    } else if (event.key === "/") {
      event.preventDefault();
      part("filter").focus();
    }
  });
  window.addEventListener("hashchange", follow);
  put(state.shown);
  if (location.hash.length > 1) { follow(); }
}

starts.push(function() {
  var state = stateOf("tg-operations");
  if (state) { operations(state); }
});
