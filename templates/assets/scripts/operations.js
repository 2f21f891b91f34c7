/* The table of operations: loads other passes on demand, opens operands, follows addresses of single operations.
   op_rows.js has its rows as values, op_cells.js as elements; op_tools.js has its tools, op_find.js the search in the
   whole run. */
function operations(state) {
  var root = document.querySelector("[data-tg=operations]"), scroller = root.querySelector("[data-tg=table]"), chosen;
  function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
  scroller.hidden = part("controls").hidden = part("tools").hidden = false;
  var passes = operationsPasses(part, state, { take: take, changed: function() { find.passChanged(); }, mark: mark });
  var view = opWindow(scroller, part("rows"),
    function(entry) { return opEntryRows(entry, tools, chosen, passes.graph(), state); });
  selectionNames.pass = passes.name;
  var tools = opRows(root, view, state.groups, remember), find = opFind(root, state, passes.shown),
      panel = tokenPanel(root, state, remember);

  function take(pass) {
    tools.take(pass);
    panel.show(pass, tools.model());
  }
  function mark(node) {
    var entry = node === undefined ? undefined : tools.entry(node);
    chosen = entry ? node : undefined;
    if (node !== undefined && !entry) { passes.tell("Pass " + passes.shown() + " lists no node " + node + "."); }
    if (entry && entry.hidden) { passes.tell("The filter hides node " + node + "."); }
    if (entry) { entry.open = true; }
    view.draw();
    if (entry && !entry.hidden) {
      view.reveal(entry);
      part("list").scrollIntoView({ block: "start" });
    }
  }
  /* Writes what is chosen into the address: the pass, the node, filters, order and columns. */
  function remember(id) {
    putAddress(Object.assign({ pass: id === undefined ? passes.shown() : id, node: chosen }, tools.words(),
      panel.words()));
    panel.draw();
  }
  function go(id) {
    remember(id);
    passes.show(id, chosen);
  }
  function follow() {
    var to = address(), id = to.pass === undefined ? state.shown : to.pass;
    tools.restore(addressWords());
    panel.restore(addressWords());
    panel.draw();
    if (passes.has(id)) {
      passes.show(id, to.pass === undefined ? undefined : to.node); /* a node belongs to a pass */
    } else {
      passes.tell("This run has no pass " + id + " with operations.");
    }
  }
  /* The file that was written for the first pass is downloaded as it is; that of another pass is made here. */
  part("csv").addEventListener("click", function(event) {
    if (passes.shown() === state.shown) { return; }
    event.preventDefault();
    tools.keepWhole();
  });
  operationsInput(part, {
    go: go,
    step: function(by) {
      var next = passes.beside(by);
      if (next) { go(next.id); }
    },
    unfold: function(node) {
      var entry = tools.entry(node);
      entry.open = !entry.open;
      chosen = node;
      view.draw();
      remember();
    }
  });
  whenSelected(follow);
  passes.put(state.shown);
  if (location.hash.length > 1) { follow(); }
}

/* The choice of the shown pass: `to.take` gets its rows when they are loaded, then `to.mark` gets the chosen node. */
function operationsPasses(part, state, to) {
  var order = state.passes, place = {}, shown = null, wanted = null;
  order.forEach(function(pass, i) { place[pass.id] = i; });
  function tell(text) { part("status").textContent = text; }
  function name(id) {
    return !/^\d+$/.test(id) || place[id] === undefined ? "pass " + id : passName(id, order[place[id]].label);
  }
  function rows(id) { return passOf(id, order[place[id]].static); }
  function put(id) {
    shown = id;
    to.take(rows(id));
    part("label").textContent = name(id);
    part("about").textContent = order[place[id]].about;
    part("left-out").textContent = order[place[id]].left_out + " of " + name(id);
    part("csv").textContent = order[place[id]].label + " (CSV)";
    tell("");
    part("choose").value = String(id);
    part("previous").disabled = place[id] === 0;
    part("next").disabled = place[id] === order.length - 1;
    to.changed();
  }
  function arrived(id, node) {
    if (wanted !== id) { return; }
    if (!rows(id)) {
      tell("The rows of pass " + id + " are missing.");
      return;
    }
    put(id);
    to.mark(node);
  }
  return {
    put: put,
    tell: tell,
    name: name,
    shown: function() { return shown; },
    has: function(id) { return place[id] !== undefined; },
    beside: function(by) { return order[place[shown] + by]; },
    graph: function() { return order[place[shown]].graph; },
    show: function(id, node) {
      wanted = id;
      if (id === shown) {
        tell("");
        to.mark(node);
        return;
      }
      tell("Loading …");
      loadPass(order[place[id]], state.data, function() { arrived(id, node); },
        function() { tell("The rows of pass " + id + " could not be loaded."); });
    }
  };
}

/* The rows of an entry of the tools' model: its op, and its operands when it is open. */
function opEntryRows(entry, tools, chosen, graph, state) {
  var pass = tools.pass(), node = entry.at.node;
  if (!entry.row) { entry.row = tools.arranged(opRow(pass, entry.i, entry.longest, state.groups)); }
  entry.row.classList.toggle("tg-chosen", node === chosen);
  entry.row.querySelector("button").setAttribute("aria-expanded", String(entry.open));
  if (!entry.open) { return [entry.row]; }
  if (!entry.detail) {
    entry.detail = make("tr", "tg-detail tg-open");
    entry.detail.appendChild(operandsCell(pass, node, graph, state));
  }
  return [entry.row, entry.detail];
}

function operationsInput(part, acts) {
  part("choose").addEventListener("change", function(event) { acts.go(parseInt(event.target.value, 10)); });
  part("previous").addEventListener("click", function() { acts.step(-1); });
  part("next").addEventListener("click", function() { acts.step(1); });
  part("rows").addEventListener("click", function(event) {
    var row = event.target.closest("tr.tg-op");
    if (row && event.target.closest("button")) { acts.unfold(parseInt(row.getAttribute("data-node"), 10)); }
  });
  paged(acts.step);
  document.addEventListener("keydown", function(event) {
    if (event.key !== "/" || !pageKey(event)) { return; }
    event.preventDefault();
    part("filter").focus();
  });
}

starts.push(function() {
  var state = stateOf("tg-operations"), first;
  if (!state || state.shown === null) { return; }
  first = state.passes.filter(function(pass) { return pass.id === state.shown; })[0];
  loadPass(first, state.data,
    function() {
      operations(state);
      selectionBar();
    },
    function() {
      document.querySelector("[data-tg=operations] [data-tg=controls]").hidden = false;
      document.querySelector("[data-tg=operations] [data-tg=status]").textContent =
        "The operations could not be loaded.";
    });
});
