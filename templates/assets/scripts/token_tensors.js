/* The table of the model's tensors that a pass waited for, read or touched: in the token panel. */
var TENSORS_SHOWN = 5;
var TENSOR_QUANTITIES = [
  { key: "waited", name: "Waited", needs: "waited_ns" },
  { key: "read", name: "Read", needs: "read_bytes", bytes: true }, { key: "touched", name: "Touched", bytes: true }
];
/* Those that a run recorded; `recorded`: waited_ns and read_bytes -> whether it did. */
function tensorQuantities(recorded) {
  return TENSOR_QUANTITIES.filter(function(quantity) { return !quantity.needs || recorded[quantity.needs]; });
}

/* The tensors of model files that a pass touched, waited for or read: [{ name, waited, read, touched, memory, file,
   offset }], waiting in ns, the others in bytes. `known` has tensors by number. */
function panelTensors(pass, known) {
  var sums = {};
  function of (name, memory, file, offset) {
    sums[name] =
      sums[name] || { name: name, touched: 0, waited: 0, read: 0, memory: memory, file: file, offset: offset };
    return sums[name];
  }
  pass.node.forEach(function(node) {
    operandsOf(pass, node).forEach(function(o) {
      var used = pass.units[node + "." + o[0]], bytes = used && used.bytes !== null ? used.bytes : o[7];
      if ((o[2] === "disk" || o[2] === "copied") && bytes) { of(o[1], o[2], o[3], o[5]).touched += bytes; }
    });
  });
  (pass.from_disk || []).forEach(function(row) {
    var tensor = known[row[0]], sum = of(tensor[0], "disk", tensor[1], tensor[2]);
    sum.waited += row[2];
    sum.read += row[3];
  });
  return Object.keys(sums).map(function(name) { return sums[name]; });
}
/* Those with most of `key` first; where that is equal, by the other quantities in their order, then by name. */
function tensorsBy(tensors, key) {
  var keys = [key].concat(TENSOR_QUANTITIES.map(function(quantity) { return quantity.key; }));
  return tensors.slice().sort(function(a,
    b) { return keys.reduce(function(less, k) { return less || b[k] - a[k]; }, 0) || (a.name < b.name ? -1 : 1); });
}

/* How many were read, where that is known, and how many of all are shown. */
function tensorCounts(tensors, most, reads) {
  var read = tensors.filter(function(tensor) { return tensor.read > 0; }).length;
  return (reads ? exact(read) + " were read. " : "") +
    (tensors.length > most ? "The first " + most + " of " + exact(tensors.length) + "." : "");
}
function tensorHead(table, quantities, units, key, sort) {
  var row = table.createTHead().insertRow();
  function cell(className, text) {
    var head = row.appendChild(make("th", className, text));
    head.scope = "col";
    return head;
  }
  cell("", "Tensor");
  quantities.forEach(function(quantity, i) {
    var head = cell("tg-n"), button = head.appendChild(make("button", "tg-sort", quantity.name + " "));
    button.type = "button";
    button.appendChild(make("small", "", units[i].name));
    button.addEventListener("click", function() { sort(quantity.key); });
    if (quantity.key === key) { head.setAttribute("aria-sort", "descending"); }
  });
  cell("", "Memory");
}
function tensorRow(row, name, values, units, memory) {
  row.appendChild(name).scope = "row";
  values.forEach(function(value,
    i) { row.appendChild(make("td", "tg-n", fixed(value, units[i].scale, units[i].digits))); });
  row.appendChild(make("td", "", memory));
}
/* Draws the table into `box`: the first `most` of `tensors` by `key`, and below them the sums of all; `sort(key)` is
   called for another order. Names are links to the tensor in `pass` where `linked`. */
function tensorTable(box, tensors, show) {
  var table = make("table", "tg-table tg-sums"), body = table.appendChild(make("tbody"));
  var quantities = tensorQuantities(show.recorded);
  function sum(key) {
    return tensors.reduce(function(total, tensor) { return total + tensor[key]; }, 0);
  }
  var sums = quantities.map(function(quantity) { return sum(quantity.key); });
  var units = quantities.map(function(quantity, i) { return layerUnit(quantity, sums[i]); });
  tensorHead(table, quantities, units, show.key, show.sort);
  tensorsBy(tensors, show.key).slice(0, show.most).forEach(function(tensor) {
    var name = make("th", "tg-code");
    if (show.linked && tensor.file !== null && tensor.offset !== null) {
      name.appendChild(make("a", "", tensor.name)).href =
        "../file/index.html#pass=" + show.pass + "&file=" + tensor.file + "&offset=" + tensor.offset;
    } else {
      name.textContent = tensor.name;
    }
    tensorRow(body.insertRow(), name, quantities.map(function(quantity) { return tensor[quantity.key]; }), units,
      kindOfMemory(tensor.memory));
  });
  tensorRow(table.createTFoot().insertRow(), make("th", "", "all " + exact(tensors.length)), sums, units, "");
  box.textContent = "";
  box.appendChild(table);
}
