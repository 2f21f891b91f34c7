/* What can be done with the rows of the operation table: sort, filter, choose and move columns, add up, copy, keep. */
var OP_COLUMNS = [
  { key: "node", title: "node" }, { key: "name", title: "result", text: true },
  { key: "op", title: "operation", text: true }, { key: "layer", title: "layer" },
  { key: "component", title: "component", text: true }, { key: "begin", title: "begin_ns" },
  { key: "duration", title: "wall_ns", sum: [1e3, 2] }, { key: "work", title: "work_ns", sum: [1e3, 2] },
  { key: "barrier", title: "waiting_inside_ns", sum: [1e3, 2] },
  { key: "wait", title: "waiting_after_ns", sum: [1e3, 2] }, { key: "disk", title: "mapped_bytes", sum: [1024, 1] },
  { key: "copied", title: "copied_bytes", sum: [1024, 1] }, { key: "buffer", title: "buffer_bytes", sum: [1024, 1] },
  { key: "threads", title: "threads" }, { key: "reads", title: "sources", text: true, extra: true },
  { key: "used", title: "used", text: true, extra: true }
];

/* The tensors that an op reads, and the rows or experts that it used of them. */
function readsOf(pass, node) {
  return operandsOf(pass, node)
    .filter(function(o) { return o[0] !== "dst"; })
    .map(function(o) { return o[1]; })
    .join(", ");
}
function usedOf(pass, node) {
  return operandsOf(pass, node)
    .map(function(o) { return pass.units[node + "." + o[0]]; })
    .filter(Boolean)
    .map(unitText)
    .join("; ");
}

/* `view` shows a list of entries; `said` is called when what `words` returns has changed. */
function opRows(root, view, said) {
  var table = root.querySelector("[data-tg=table] table"), foot = table.tFoot.rows[0],
      widths = table.querySelector("colgroup");
  function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
  var heads = Array.prototype.slice.call(table.tHead.rows[0].cells), feet = Array.prototype.slice.call(foot.cells);
  var columns = Array.prototype.slice.call(widths.children);
  var pass, model = [], shown = [], byNode = {}, sort = null;
  var order = OP_COLUMNS.map(function(c, i) { return i; }), visible = OP_COLUMNS.map(function(c) { return !c.extra; });

  /* One entry per row: its values by column, and all its words in small letters. */
  function modelOf() {
    var longest = pass.duration.reduce(function(most, value) { return value > most ? value : most; }, 1);
    return pass.node.map(function(node, i) {
      var about = pass.known.about[node] || { op: "", name: "", layer: null, component: "other" };
      var at = { node: node, name: about.name, op: about.op, layer: about.layer, component: about.component };
      OP_COLUMNS.slice(5, 14).forEach(function(column) { at[column.key] = pass[column.key][i]; });
      at.reads = readsOf(pass, node);
      at.used = usedOf(pass, node);
      var words = [node, at.name, at.op, pass.note[i], at.component, at.reads, at.used];
      if (at.layer !== null) { words.push("layer " + at.layer); }
      return {
        i: i,
        at: at,
        longest: longest,
        words: words.join("\n").toLowerCase(),
        open: false,
        extra: 0,
        hidden: false
      };
    });
  }

  function chosenOf(name) { return part(name).value; }
  function passes(entry, words, op, component, memory) {
    if (op && entry.at.op !== op) { return false; }
    if (component && entry.at.component !== component) { return false; }
    if (memory && !entry.at[memory]) { return false; }
    return words.every(function(word) { return entry.words.indexOf(word) >= 0; });
  }
  function filter() {
    var words = part("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    var op = chosenOf("op"), component = chosenOf("component"), memory = chosenOf("memory");
    model.forEach(function(entry) { entry.hidden = !passes(entry, words, op, component, memory); });
    shown = model.filter(function(entry) { return !entry.hidden; });
    if (sort) { shown.sort(compare); }
    part("count").textContent = shown.length === model.length ?
      exact(model.length) + " rows" :
      exact(shown.length) + " of " + exact(model.length) + " rows";
    part("clear").disabled = !(words.length || op || component || memory || sort);
    table.setAttribute("aria-rowcount", String(shown.length + 1));
    heads.forEach(function(head, k) {
      var mine = sort && OP_COLUMNS[k].key === sort.key;
      if (mine) {
        head.setAttribute("aria-sort", sort.down ? "descending" : "ascending");
      } else {
        head.removeAttribute("aria-sort");
      }
    });
    sums();
    view.set(shown);
  }

  function sums() {
    OP_COLUMNS.forEach(function(column, k) {
      if (!column.sum) { return; }
      var known = shown.filter(function(entry) { return entry.at[column.key] !== null; });
      var total = known.reduce(function(sum, entry) { return sum + entry.at[column.key]; }, 0);
      var cell = feet[k];
      cell.textContent = known.length ? fixed(total, column.sum[0], column.sum[1]) : "—";
      cell.title = known.length < shown.length ? known.length + " of " + shown.length + " rows have a value" : "";
    });
    feet[0].textContent = "Σ";
  }

  function compare(a, b) {
    var x = a.at[sort.key], y = b.at[sort.key], none = (x === null) - (y === null);
    if (none) { return none; } /* what is not recorded comes last, whichever way */
    return (x < y ? -1 : x > y ? 1 : 0) * (sort.down ? -1 : 1) || a.i - b.i;
  }
  function sortBy(key) {
    var column = OP_COLUMNS.filter(function(c) { return c.key === key; })[0],
        first = !column.text && key !== "node" && key !== "begin" && key !== "layer";
    sort = !sort || sort.key !== key ? { key: key, down: first } :
      sort.down === first            ? { key: key, down: !first } :
                                       null;
    filter();
    said();
  }

  /* Columns: the node and its result stay first; the others are shown, hidden and moved. */
  function put(row, cells) {
    order.forEach(function(k) {
      if (visible[k]) {
        row.appendChild(cells[k]);
      } else {
        cells[k].remove();
      }
    });
  }
  function arranged(row) {
    put(row, Array.prototype.slice.call(row.children));
    return row;
  }
  function placeColumns() {
    put(heads[0].parentNode, heads);
    put(foot, feet);
    put(widths, columns);
    model.forEach(function(entry) { entry.row = null; });
  }
  function columnsChanged() {
    placeColumns();
    view.draw();
    said();
  }
  function usualColumns() {
    return order.every(function(k, i) { return k === i; }) &&
      visible.every(function(on, k) { return on === !OP_COLUMNS[k].extra; });
  }
  function shownColumns() {
    return order.filter(function(k) { return k > 1 && visible[k]; })
      .map(function(k) { return OP_COLUMNS[k].key; })
      .join(",");
  }
  function listColumns() {
    var list = part("columns");
    list.textContent = "";
    order.slice(2).forEach(function(k, i) {
      var item = make("li"), label = make("label"), box = make("input"), title = headText(k);
      box.type = "checkbox";
      box.checked = visible[k];
      box.addEventListener("change", function() {
        visible[k] = box.checked;
        columnsChanged();
      });
      label.appendChild(box);
      label.appendChild(document.createTextNode(" " + title));
      item.appendChild(label);
      [["←", -1, "left"], ["→", 1, "right"]].forEach(function(move) {
        var button = make("button", "", move[0]), to = i + 2 + move[1];
        button.type = "button";
        button.disabled = to < 2 || to >= order.length;
        button.setAttribute("aria-label", "move " + title + " to the " + move[2]);
        button.addEventListener("click", function() {
          order.splice(to, 0, order.splice(i + 2, 1)[0]);
          columnsChanged();
          listColumns();
          list.children[to - 2].querySelectorAll("button")[move[1] < 0 ? 0 : 1].focus();
        });
        item.appendChild(button);
      });
      list.appendChild(item);
    });
  }
  function headText(k) { return heads[k].innerText.replace(/\s+/g, " ").trim(); }

  /* What is shown, as text: a line per row, exact values. */
  function lines(between, quoted) {
    var said = order.filter(function(k) { return visible[k]; });
    function say(value) {
      var text = value === null || value === undefined ? "" : String(value);
      if (quoted && /^[=+\-@\t\r]/.test(text) && isNaN(text)) {
        text = "'" + text;
      } /* a spreadsheet would compute it */
      return quoted && /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' :
        quoted                               ? text :
                                               text.replace(/[\t\r\n]/g, " ");
    }
    return [
      said.map(function(k) { return OP_COLUMNS[k].title; })
    ].concat(shown.map(function(entry) { return said.map(function(k) { return say(entry.at[OP_COLUMNS[k].key]); }); }))
             .map(function(cells) { return cells.join(between); })
             .join("\n") +
      "\n";
  }
  function copy() {
    function done() { part("status").textContent = "Copied " + exact(shown.length) + " rows."; }
    function failed() { part("status").textContent = "The browser did not allow to copy; download the CSV instead."; }
    if (!navigator.clipboard) {
      failed();
      return;
    }
    navigator.clipboard.writeText(lines("\t", false)).then(done, failed);
  }
  function keep() {
    var link = make("a"), label = part("label").textContent.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "");
    link.href = URL.createObjectURL(new Blob([lines(",", true)], { type: "text/csv" }));
    link.download = "operations-" + label + ".csv";
    link.click();
    setTimeout(function() { URL.revokeObjectURL(link.href); }, 0);
  }

  function options(name, values, first) {
    var list = part(name), kept = list.value;
    list.textContent = "";
    [["", first]].concat(values.sort().map(function(v) { return [v, v]; })).forEach(function(pair) {
      var option = make("option", "", pair[1]);
      option.value = pair[0];
      list.appendChild(option);
    });
    list.value = kept;
    if (list.selectedIndex < 0) { list.value = ""; }
  }
  function distinct(of) {
    var seen = {};
    model.forEach(function(entry) { seen[of(entry.at)] = true; });
    return Object.keys(seen);
  }

  /* Another pass is shown; what is open in this one is open in that. */
  function take(next) {
    var open = {};
    model.forEach(function(entry) { open[entry.at.node] = entry.open; });
    pass = next;
    model = modelOf();
    byNode = {};
    model.forEach(function(entry) {
      byNode[entry.at.node] = entry;
      entry.open = Boolean(open[entry.at.node]);
    });
    options("op", distinct(function(at) { return at.op; }), "every operation");
    options("component", distinct(function(at) { return at.component; }), "every component");
    filter();
  }

  function words() {
    var made = [];
    function say(key, value) {
      if (value) { made.push(key + "=" + encodeURIComponent(value).replace(/%2C/g, ",")); }
    }
    say("q", part("filter").value);
    ["op", "component", "memory"].forEach(function(name) { say(name, chosenOf(name)); });
    if (sort) { say("sort", (sort.down ? "-" : "") + sort.key); }
    if (!usualColumns()) { say("columns", shownColumns()); }
    return made;
  }
  /* What an address does not know or name is as usual. */
  function restore(to) {
    part("filter").value = to.q || "";
    ["op", "component", "memory"].forEach(function(name) {
      part(name).value = to[name] || "";
      if (part(name).selectedIndex < 0) { part(name).value = ""; }
    });
    var key = (to.sort || "").replace(/^-/, "");
    sort = OP_COLUMNS.some(function(c) { return c.key === key; }) ? { key: key, down: to.sort[0] === "-" } : null;
    var named = (to.columns || "")
                  .split(",")
                  .map(function(name) { return OP_COLUMNS.map(function(c) { return c.key; }).indexOf(name); })
                  .filter(function(k, i, all) { return k > 1 && all.indexOf(k) === i; });
    var all = OP_COLUMNS.map(function(c, i) { return i; });
    order =
      named.length ? [0, 1].concat(named, all.filter(function(k) { return k > 1 && named.indexOf(k) < 0; })) : all;
    visible = OP_COLUMNS.map(function(c, k) { return named.length ? k < 2 || named.indexOf(k) >= 0 : !c.extra; });
    placeColumns();
    listColumns();
    filter();
  }

  heads.forEach(function(head, k) {
    var button = make("button", "tg-sort");
    button.type = "button";
    while (head.firstChild) { button.appendChild(head.firstChild); }
    head.appendChild(button);
    button.addEventListener("click", function() { sortBy(OP_COLUMNS[k].key); });
  });
  part("filter").addEventListener("input", function() {
    filter();
    said();
  });
  ["op", "component", "memory"].forEach(function(name) {
    part(name).addEventListener("change", function() {
      filter();
      said();
    });
  });
  part("clear").addEventListener("click", function() {
    restore({ columns: usualColumns() ? "" : shownColumns() });
    said();
    part("filter").focus();
  });
  part("copy").addEventListener("click", copy);
  part("keep").addEventListener("click", keep);
  placeColumns();
  listColumns();
  return {
    take: take,
    words: words,
    restore: restore,
    arranged: arranged,
    pass: function() { return pass; },
    entry: function(node) { return byNode[node]; }
  };
}
