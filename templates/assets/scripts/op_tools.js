/* The tools of the operation table: sort, filter, choose and move columns, add up, copy, download.
   `view` shows a list of entries; `changedWords` is called when the result of `words` has changed. */
var OP_FILTERS = ["layer", "op", "component", "memory"];

function opRows(root, view, groups, changedWords) {
  function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
  var now = { part: part, model: [], shown: [], sort: null, columns: opColumns("") };
  var head = opHead(root.querySelector("[data-tg=table] table"), now, function(key) {
    now.sort = opSort(now.sort, key);
    filter();
    changedWords();
  });
  var pass, byNode = {}, chooser = opChooser(now, head, function() {
    head.place();
    view.draw();
    changedWords();
  });

  function filter() {
    var wanted = opChoice(now), n = exact(now.model.length);
    now.model.forEach(function(entry) { entry.hidden = !opWanted(entry, wanted); });
    now.shown = now.model.filter(function(entry) { return !entry.hidden; });
    if (now.sort) { now.shown.sort(opBefore(now.sort)); }
    part("count").textContent =
      now.shown.length === now.model.length ? n + " rows" : exact(now.shown.length) + " of " + n + " rows";
    part("clear").disabled = !(wanted.words.length || wanted.op || wanted.component || wanted.group || wanted.layer ||
      wanted.memory || now.sort);
    head.tell();
    view.set(now.shown);
  }
  /* Shows another pass; the rows of nodes that were open stay open. */
  function take(next) {
    var open = {};
    now.model.forEach(function(entry) { open[entry.at.node] = entry.open; });
    pass = next;
    now.model = opModel(pass, groups);
    byNode = {};
    now.model.forEach(function(entry) {
      byNode[entry.at.node] = entry;
      entry.open = Boolean(open[entry.at.node]);
    });
    opLists(now);
    filter();
  }
  /* Takes filters, order and columns from an address; those that it does not name get their defaults. */
  function restore(to) {
    part("filter").value = to.q || "";
    OP_FILTERS.forEach(function(name) { opSelect(part(name), to[name] || ""); });
    if (to.group && !to.component) { opSelect(part("component"), "group:" + to.group); }
    now.sort = opSorted(to.sort || "");
    now.columns = opColumns(to.columns || "");
    head.place();
    chooser();
    filter();
  }

  function changed() {
    filter();
    changedWords();
  }
  part("filter").addEventListener("input", changed);
  OP_FILTERS.forEach(function(name) { part(name).addEventListener("change", changed); });
  part("clear").addEventListener("click", function() {
    restore({ columns: opColumnsText(now.columns) });
    changedWords();
    part("filter").focus();
  });
  part("copy").addEventListener("click", function() { opCopy(now); });
  part("keep").addEventListener("click", function() { opKeep(now, now.shown, now.columns); });
  head.place();
  chooser();
  return {
    take: take,
    restore: restore,
    arranged: head.arranged,
    words: function() { return opWords(now); },
    keepWhole: function() {
      opKeep(now, now.model, opColumns(OP_COLUMNS.slice(2).map(function(c) { return c.key; }).join(",")));
    },
    pass: function() { return pass; },
    model: function() { return now.model; },
    entry: function(node) { return byNode[node]; }
  };
}

/* Fills the lists of the filters with what the pass has. */
function opLists(now) {
  var kinds = Array.from(new Set(now.model.map(function(entry) { return entry.at.op; }))).sort();
  opOptions(now.part("layer"), opLayers(now.model), "every layer");
  opOptions(now.part("op"), kinds.map(function(kind) { return [kind, kind]; }), "every operation");
  opOptions(now.part("component"), opComponents(now.model), "every component");
}

/* What the tools choose; a component group is chosen in the list of components. */
function opChoice(now) {
  var wanted = { words: now.part("filter").value.toLowerCase().split(/\s+/).filter(Boolean) }, group;
  OP_FILTERS.forEach(function(name) { wanted[name] = now.part(name).value; });
  group = /^group:(.*)$/.exec(wanted.component);
  wanted.group = group ? group[1] : "";
  if (group) { wanted.component = ""; }
  return wanted;
}

/* The words of an address for filters, order and columns; those that are not chosen are empty. */
function opWords(now) {
  var words = opChoice(now);
  words.q = now.part("filter").value;
  delete words.words;
  words.sort = now.sort ? (now.sort.down ? "-" : "") + now.sort.key : "";
  words.columns = opColumnsText(now.columns);
  return words;
}

/* The head and the sums of the table: node and result stay first; other columns are shown, hidden, moved. */
function opHead(table, now, sorted) {
  var foot = table.tFoot.rows[0], widths = table.querySelector("colgroup");
  var heads = Array.from(table.tHead.rows[0].cells), feet = Array.from(foot.cells),
      columns = Array.from(widths.children);
  function put(row, cells) {
    now.columns.order.forEach(function(k) {
      if (now.columns.visible[k]) {
        row.appendChild(cells[k]);
      } else {
        cells[k].remove();
      }
    });
  }
  heads.forEach(function(head, k) {
    var button = make("button", "tg-sort");
    button.type = "button";
    while (head.firstChild) { button.appendChild(head.firstChild); }
    head.appendChild(button);
    button.addEventListener("click", function() { sorted(OP_COLUMNS[k].key); });
  });
  return {
    text: function(k) { return heads[k].innerText.replace(/\s+/g, " ").trim(); },
    arranged: function(row) {
      put(row, Array.from(row.children));
      return row;
    },
    place: function() {
      put(heads[0].parentNode, heads);
      put(foot, feet);
      put(widths, columns);
      now.model.forEach(function(entry) { entry.row = null; });
    },
    /* Shows by which column the rows are sorted, and their sums. */
    tell: function() {
      table.setAttribute("aria-rowcount", String(now.shown.length + 1));
      OP_COLUMNS.forEach(function(column, k) {
        var mine = now.sort && column.key === now.sort.key, sum = column.sum && opSum(now.shown, column);
        if (mine) {
          heads[k].setAttribute("aria-sort", now.sort.down ? "descending" : "ascending");
        } else {
          heads[k].removeAttribute("aria-sort");
        }
        if (sum) {
          feet[k].textContent = sum.text;
          if (sum.of) { feet[k].appendChild(make("small", "", sum.of)); }
        }
      });
      feet[0].textContent = "Σ";
      feet[1].textContent = now.shown.length === now.model.length ?
        "all " + exact(now.model.length) + " rows" :
        exact(now.shown.length) + " of " + exact(now.model.length) + " rows";
    }
  };
}

/* The list of columns: a box to show each, two buttons to move it. */
function opChooser(now, head, changed) {
  var list = now.part("columns");
  function mover(k, i, sign, by, side) {
    var button = make("button", "", sign), to = i + 2 + by, order = now.columns.order;
    button.type = "button";
    button.disabled = to < 2 || to >= order.length;
    button.setAttribute("aria-label", "move " + head.text(k) + " to the " + side);
    button.addEventListener("click", function() {
      order.splice(to, 0, order.splice(i + 2, 1)[0]);
      changed();
      show();
      list.children[to - 2].querySelectorAll("button")[by < 0 ? 0 : 1].focus();
    });
    return button;
  }
  function show() {
    list.textContent = "";
    now.columns.order.slice(2).forEach(function(k, i) {
      var item = make("li"), label = item.appendChild(make("label")), box = label.appendChild(make("input"));
      box.type = "checkbox";
      box.checked = now.columns.visible[k];
      box.addEventListener("change", function() {
        now.columns.visible[k] = box.checked;
        changed();
      });
      label.appendChild(document.createTextNode(" " + head.text(k)));
      item.appendChild(mover(k, i, "←", -1, "left"));
      item.appendChild(mover(k, i, "→", 1, "right"));
      list.appendChild(item);
    });
  }
  return show;
}

function opSelect(list, value) {
  list.value = value;
  if (list.selectedIndex < 0) { list.value = ""; }
}
/* Fills a list with pairs of a value and its text; the chosen value stays chosen if it is among them. */
function opOptions(list, pairs, first) {
  var chosen = list.value;
  list.textContent = "";
  [["", first]].concat(pairs).forEach(
    function(pair) { list.appendChild(make("option", "", pair[1])).value = pair[0]; });
  opSelect(list, chosen);
}

function opCopy(now) {
  var status = now.part("status");
  function failed() { status.textContent = "The browser did not allow copying; download the CSV instead."; }
  if (!navigator.clipboard) {
    failed();
    return;
  }
  navigator.clipboard.writeText(opLines(now.shown, now.columns, "\t", false))
    .then(function() { status.textContent = "Copied " + exact(now.shown.length) + " rows."; }, failed);
}
/* Downloads entries as CSV: those that are shown with their columns, or all of the pass with all columns. */
function opKeep(now, entries, columns) {
  var link = make("a"), label = now.part("label").textContent.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "");
  link.href = URL.createObjectURL(new Blob([opLines(entries, columns, ",", true)], { type: "text/csv" }));
  link.download = "operations-" + label + ".csv";
  link.click();
  setTimeout(function() { URL.revokeObjectURL(link.href); }, 0);
}
