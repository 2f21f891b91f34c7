/* The table of layers by component groups: what one pass did, beside the mean; a cell chooses its operations. */
var LAYER_QUANTITIES = [
  { key: "duration", name: "wall time" }, { key: "work", name: "work of all threads" },
  { key: "waiting", name: "waiting of all threads" }, { key: "disk", name: "mapped bytes touched", bytes: true },
  { key: "copied", name: "copied bytes touched", bytes: true },
  { key: "buffer", name: "bytes touched in buffers", bytes: true }
];
/* Puts them into a list to choose from; weights that were copied can be on a device. */
function layerOptions(select) {
  var where = kindOfMemory("copied");
  LAYER_QUANTITIES.forEach(function(quantity) {
    var there = quantity.key === "copied" && where !== "copied";
    select.appendChild(make("option", "", there ? "bytes touched " + where : quantity.name)).value = quantity.key;
  });
}
/* The unit of a table whose largest sum is `most`, in ns or bytes. */
function layerUnit(quantity, most) {
  if (quantity.bytes) {
    return most < 1e8 ? { name: "KiB", scale: 1024, digits: 1 } : { name: "MiB", scale: 1024 * 1024, digits: 3 };
  }
  return most < 1e8 ? { name: "µs", scale: 1e3, digits: 1 } : { name: "ms", scale: 1e6, digits: 3 };
}

/* Adds a number to a sum that is null as long as nothing is known. */
function layerAdded(sum, value) {
  return value === null || value === undefined ? sum : (sum === undefined || sum === null ? 0 : sum) + value;
}
/* The sums of the entries of a pass (opModel) by layer and group: "2|attention" -> { duration, work, … }. */
function layerSums(entries) {
  var sums = {};
  entries.forEach(function(entry) {
    var key = (entry.at.layer === null ? "none" : entry.at.layer) + "|" + entry.at.group,
        sum = sums[key] = sums[key] || {};
    ["duration", "work", "disk", "copied", "buffer"].forEach(
      function(name) { sum[name] = layerAdded(sum[name], entry.at[name]); });
    sum.waiting = layerAdded(layerAdded(sum.waiting, entry.at.barrier), entry.at.wait);
  });
  return sums;
}
/* The means of the run in the same form. */
function layerMeans(panel) {
  var means = {};
  panel.means.forEach(function(row) {
    means[(row[0] === null ? "none" : row[0]) + "|" + row[1]] = {
      duration: row[2],
      work: row[3],
      waiting: layerAdded(layerAdded(null, row[4]), row[5]),
      disk: row[6],
      copied: row[7],
      buffer: row[8]
    };
  });
  return means;
}
/* The layers and groups that occur, in order: layers by number, then what is in no layer. */
function layerAxes(sums, means, order) {
  var layers = {}, groups = {};
  Object.keys(sums).concat(Object.keys(means)).forEach(function(key) {
    var at = key.indexOf("|");
    layers[key.slice(0, at)] = groups[key.slice(at + 1)] = true;
  });
  return {
    layers: Object.keys(layers).sort(function(a, b) { return a === "none" ? 1 :
                                                        b === "none"      ? -1 :
                                                                            a - b; }),
    groups: order.filter(function(group) { return groups[group]; })
  };
}
/* The sum over a row or a column of the table. */
function layerTotal(sums, keys, name) {
  return keys.reduce(function(total, key) { return layerAdded(total, sums[key] && sums[key][name]); }, null);
}

function layerCell(row, tag, value, mean, unit, most) {
  var cell = row.appendChild(make(tag, "tg-n tg-heat")), button = cell.appendChild(make("button"));
  button.type = "button";
  button.appendChild(make("span", "", fixed(value, unit.scale, unit.digits)));
  button.appendChild(make("small", "", fixed(mean, unit.scale, unit.digits)));
  if (most && value) { cell.style.setProperty("--share", (value / most).toFixed(4)); }
  return button;
}

/* Draws the table into `box`. `chosen`: the chosen layer and group; `pick(layer, group)` chooses. */
function layerTable(box, sums, panel, quantity, chosen, pick) {
  var means = layerMeans(panel), axes = layerAxes(sums, means, panel.order),
      table = make("table", "tg-table tg-layers");
  var head = table.appendChild(make("thead")).appendChild(make("tr")), body = table.appendChild(make("tbody"));
  var most = Object.keys(sums).reduce(function(top, key) { return Math.max(top, sums[key][quantity.key] || 0); }, 0);
  var all = Object.keys(sums), unit = layerUnit(quantity, layerTotal(sums, all, quantity.key) || 0);
  function of (layers, groups) {
    var keys = [];
    layers.forEach(function(layer) { groups.forEach(function(group) { keys.push(layer + "|" + group); }); });
    return keys;
  }
  function put(row, tag, layer, group) {
    var keys = of(layer === null ? axes.layers : [layer], group === null ? axes.groups : [group]);
    var absent = !keys.some(function(key) { return sums[key] || means[key]; });
    if (absent) {
      row.appendChild(make(tag, "tg-n"));
      return;
    }
    var button = layerCell(row, tag, layerTotal(sums, keys, quantity.key), layerTotal(means, keys, quantity.key), unit,
      layer === null || group === null ? 0 : most);
    button.setAttribute("aria-pressed",
      String((layer || "") === (chosen.layer || "") && (group || "") === (chosen.group || "")));
    button.setAttribute("aria-label", [
      layer === null ? "all layers" : selectionNames.layer(layer), group === null ? "all components" : group,
      button.firstChild.textContent + " " + unit.name, "mean " + button.lastChild.textContent
    ].join(", "));
    button.addEventListener("click", function() { pick(layer, group); });
  }
  head.appendChild(make("th", "", "Layer, " + unit.name)).scope = "col";
  axes.groups.forEach(function(group) {
    var cell = head.appendChild(make("th", "tg-n")), dot = cell.appendChild(make("i", "tg-dot"));
    dot.setAttribute("data-group", group);
    cell.appendChild(document.createTextNode(group));
    cell.scope = "col";
  });
  head.appendChild(make("th", "tg-n", "all")).scope = "col";
  axes.layers.concat([null]).forEach(function(layer) {
    var row = body.appendChild(make("tr")), name = layer === null ? "all" : layer === "none" ? "no layer" : layer;
    row.appendChild(make("th", "", name)).scope = "row";
    axes.groups.concat([null]).forEach(function(group) { put(row, "td", layer, group); });
  });
  box.textContent = "";
  box.appendChild(table);
}
