/* The rows of the operation table as values: filters, order, sums, text; and the choice of columns. Nothing is drawn
   here. */
var OP_COLUMNS = [
  { key: "node", title: "node" }, { key: "name", title: "result", text: true },
  { key: "op", title: "operation", text: true }, { key: "layer", title: "layer" },
  { key: "component", title: "component", text: true }, { key: "begin", title: "begin_ns" },
  { key: "duration", title: "wall_ns", sum: [1e3, 2] }, { key: "work", title: "work_ns", sum: [1e3, 2] },
  { key: "barrier", title: "waiting_inside_ns", sum: [1e3, 2] },
  { key: "wait", title: "waiting_after_ns", sum: [1e3, 2] }, { key: "disk", title: "mapped_bytes", sum: [1024, 1] },
  { key: "copied", title: "copied_bytes", sum: [1024, 1] }, { key: "buffer", title: "buffer_bytes", sum: [1024, 1] },
  { key: "threads", title: "threads" }, { key: "reads", title: "sources", text: true, extra: true },
  { key: "used", title: "touched_rows_or_experts", text: true, extra: true }
];

/* The tensors that an op reads, and the rows or experts of them that it touched. */
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


/* One entry per row: its values by column, and all its words in lower case. `groups` is component -> its group. */
function opModel(pass, groups) {
  var longest = pass.duration.reduce(function(most, value) { return value > most ? value : most; }, 1);
  return pass.node.map(function(node, i) {
    var about = opAbout(pass, node), at = { node: node };
    ["name", "op", "layer", "component"].forEach(function(name) { at[name] = about[name]; });
    OP_COLUMNS.slice(5, 14).forEach(function(column) { at[column.key] = pass[column.key][i]; });
    at.reads = readsOf(pass, node);
    at.used = usedOf(pass, node);
    at.group = groups[at.component] || "other";
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
function opAbout(pass, node) { return pass.known.about[node] || { op: "", name: "", layer: null, component: "other" }; }

/* The layer that a typed word means: `blk.2` means every operation of layer 2, whatever its name; null: no layer. */
function opLayerWord(word) {
  var layer = /^(?:blk\.|layer[.=]?)(\d+)\.?$/.exec(word);
  return layer ? parseInt(layer[1], 10) : null;
}
/* Whether an entry passes the filters: it has every word, the layer ("none": no layer), the operation, the component
   or component group, and bytes in the kind of memory. */
function opWanted(entry, wanted) {
  var at = entry.at;
  if (wanted.layer && (at.layer === null ? "none" : String(at.layer)) !== wanted.layer) { return false; }
  if (wanted.op && at.op !== wanted.op) { return false; }
  if (wanted.component && at.component !== wanted.component) { return false; }
  if (wanted.group && at.group !== wanted.group) { return false; }
  if (wanted.memory && !at[wanted.memory]) { return false; }
  return wanted.words.every(function(word) {
    var layer = opLayerWord(word);
    return layer === null ? entry.words.indexOf(word) >= 0 : at.layer === layer || entry.words.indexOf(word) >= 0;
  });
}
/* What a filter lists: [value, text] for every layer, or every component below its group ("group:" before a group). */
function opLayers(model) {
  var layers = new Set(model.map(function(entry) { return entry.at.layer; })), none = layers.delete(null);
  var list = Array.from(layers).sort(function(a, b) { return a - b; });
  return list.map(function(layer) { return [String(layer), "layer " + layer]; })
    .concat(none ? [["none", "no layer"]] : []);
}
function opComponents(model) {
  var groups = {}, list = [];
  model.forEach(
    function(entry) { (groups[entry.at.group] = groups[entry.at.group] || {})[entry.at.component] = true; });
  Object.keys(groups).sort().forEach(function(group) {
    var members = Object.keys(groups[group]).sort();
    list.push(["group:" + group, group]);
    if (members.length > 1) {
      members.forEach(function(name) { list.push([name, "\u2003" + name]); });
    }
  });
  return list;
}

function opBefore(sort) {
  return function(a, b) {
    var x = a.at[sort.key], y = b.at[sort.key], none = (x === null) - (y === null);
    if (none) { return none; } /* unknown values come last in both directions */
    return (x < y ? -1 : x > y ? 1 : 0) * (sort.down ? -1 : 1) || a.i - b.i;
  };
}
/* The order that an address names: a column; with "-" the largest value comes first. */
function opSorted(text) {
  var key = text.replace(/^-/, "");
  return OP_COLUMNS.some(function(c) { return c.key === key; }) ? { key: key, down: text[0] === "-" } : null;
}
/* The order after a click on a column: a second click reverses it, a third one removes it. */
function opSort(sort, key) {
  var column = OP_COLUMNS.filter(function(c) { return c.key === key; })[0],
      first = !column.text && key !== "node" && key !== "begin" && key !== "layer";
  if (!sort || sort.key !== key) { return { key: key, down: first }; }
  return sort.down === first ? { key: key, down: !first } : null;
}

function opSum(entries, column) {
  var known = entries.filter(function(entry) { return entry.at[column.key] !== null; });
  var total = known.reduce(function(sum, entry) { return sum + entry.at[column.key]; }, 0);
  return {
    text: known.length ? fixed(total, column.sum[0], column.sum[1]) : "—",
    of: known.length < entries.length ? exact(known.length) + " of " + exact(entries.length) + " rows" : ""
  };
}

/* The columns that an address names, in its order, after node and result; the usual columns if it names none. */
function opColumns(text) {
  var all = OP_COLUMNS.map(function(c, i) { return i; }), keys = OP_COLUMNS.map(function(c) { return c.key; });
  var named = text.split(",")
                .map(function(key) { return keys.indexOf(key); })
                .filter(function(k, i, list) { return k > 1 && list.indexOf(k) === i; });
  if (!named.length) {
    return { order: all, visible: OP_COLUMNS.map(function(c) { return !c.extra; }) };
  }
  return {
    order: [0, 1].concat(named, all.filter(function(k) { return k > 1 && named.indexOf(k) < 0; })),
    visible: all.map(function(k) { return k < 2 || named.indexOf(k) >= 0; })
  };
}
/* The text that opColumns reads; empty for the usual columns. */
function opColumnsText(columns) {
  var order = columns.order, visible = columns.visible;
  var usual = order.every(function(k, i) { return k === i && visible[k] === !OP_COLUMNS[k].extra; });
  if (usual) { return ""; }
  return order.filter(function(k) { return k > 1 && visible[k]; })
    .map(function(k) { return OP_COLUMNS[k].key; })
    .join(",");
}

/* Entries as text: a line per row, exact values. */
function opLines(entries, columns, between, quoted) {
  var visible = columns.order.filter(function(k) { return columns.visible[k]; });
  function say(value) {
    var text = value === null || value === undefined ? "" : String(value);
    if (!quoted) { return text.replace(/[\t\r\n]/g, " "); }
    if (/^[=+\-@\t\r]/.test(text) && isNaN(text)) { text = "'" + text; } /* a spreadsheet would compute it */
    return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  }
  var rows =
    entries.map(function(entry) { return visible.map(function(k) { return say(entry.at[OP_COLUMNS[k].key]); }); });
  return [visible.map(function(k) { return OP_COLUMNS[k].title; })]
           .concat(rows)
           .map(function(cells) { return cells.join(between); })
           .join("\n") +
    "\n";
}
