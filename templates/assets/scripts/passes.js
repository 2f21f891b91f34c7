/* The ops of every pass, from the chunks and statics that pages/explorers/op_chunks.py writes; a pass is unpacked on
   demand. */
var packedPasses = {}, statics = {}, unpackedPasses = {};

window.tracegenChunk = function(list) {
  var node = null;
  list.forEach(function(pass) {
    node = pass.node = pass.node || node;
    packedPasses[pass.id] = pass;
  });
};

window.tracegenStatic = function(data) {
  data.about = {};
  data.nodes.forEach(function(row,
    i) { data.about[row[0]] = { op: row[1], name: row[2], layer: row[3], component: row[4], at: i }; });
  statics[data.static] = data;
};

/* A steady column of a pass: the values of its static, except where the pass has its own, as pairs of (rows since the
   previous pair, value). */
function steady(pass, known, name) {
  var values = pass.node.map(function(node) {
    var row = known.about[node];
    return row ? known[name][row.at] : null;
  });
  var pairs = unpack(pass[name] || ""), row = 0;
  for (var i = 0; i < pairs.length; i += 2) {
    row += pairs[i];
    values[row] = pairs[i + 1];
  }
  return values;
}

/* The units that each operand of `selects` touched: "node.slot" -> { unit, runs: [[first, how many], …], size, bytes },
   both in bytes or null. */
function unitsOf(pass, known) {
  var numbers = unpack(pass.units), at = 0, units = {};
  known.selects.forEach(function(operand) {
    var n = numbers[at], runs = [], sum = 0, next = 0;
    at += 1;
    for (var i = 0; i < n; i += 1, at += 2) {
      var first = next + numbers[at], count = numbers[at + 1] + 1;
      runs.push([first, count]);
      sum += count;
      next = first + count;
    }
    if (n) {
      units[operand[0] + "." + operand[1]] = {
        unit: operand[2],
        runs: runs,
        size: operand[3],
        bytes: operand[3] === null ? null : sum * operand[3]
      };
    }
  });
  return units;
}

function unitText(used) {
  var texts =
    used.runs.map(function(run) { return run[1] === 1 ? String(run[0]) : run[0] + "–" + (run[0] + run[1] - 1); });
  return used.unit + "s " + texts.slice(0, 24).join(", ") + (texts.length > 24 ? ", …" : "");
}

/* A pass with all its columns, in order of its rows; null if its chunk or static is not loaded. */
function passOf(id, number) {
  var packed = packedPasses[id], known = statics[number];
  if (unpackedPasses[id]) { return unpackedPasses[id]; }
  if (!packed || !known) { return null; }
  var pass = { id: id, known: known, node: packed.node, units: unitsOf(packed, known) }, last = 0;
  pass.begin = unpack(packed.begin).map(function(gap) {
    if (gap === null) { return null; }
    last += gap;
    return last;
  });
  ["duration", "work", "barrier", "wait"].forEach(function(name) { pass[name] = unpack(packed[name]); });
  ["disk", "copied", "buffer", "threads"].forEach(function(name) { pass[name] = steady(packed, known, name); });
  pass.note = packed.node.map(function(node, i) {
    var row = known.about[node];
    return packed.note && packed.note[i] !== undefined ? packed.note[i] : row ? known.note[row.at] : "";
  });
  pass.experts = chosenExperts(packed.experts);
  pass.from_disk = packed.from_disk === undefined ? null : diskOf(packed.from_disk);
  pass.ran = {}; /* an op that did not run accessed nothing */
  packed.node.forEach(function(node,
    i) { pass.ran[node] = pass.note[i] === "" || pass.note[i].indexOf("fused") === 0; });
  unpackedPasses[id] = pass;
  return pass;
}
/* The experts that the token of a pass chose: [layer, [[expert, weight or null], …]] by layer; null: several tokens. */
function chosenExperts(text) {
  var numbers = text ? unpack(text) : null, layers = [], last = null;
  if (!numbers) { return null; }
  for (var i = 0; i < numbers.length; i += 3) {
    if (!last || last[0] !== numbers[i]) { layers.push(last = [numbers[i], []]); }
    last[1].push([numbers[i + 1], numbers[i + 2] === null ? null : numbers[i + 2] / 1000]);
  }
  return layers;
}
/* What a pass waited for (ns) and read (bytes; null: not recorded): [tensor, expert or null, waited, read] each. */
function diskOf(text) {
  var numbers = unpack(text), rows = [], tensor = 0;
  for (var i = 0; i < numbers.length; i += 4) {
    tensor += numbers[i];
    rows.push([tensor].concat(numbers.slice(i + 1, i + 4)));
  }
  return rows;
}
function operandsOf(pass, node) { return (pass.ran[node] && pass.known.operands[node]) || []; }

/* Calls `done` when the pass (an entry of the page's list) is loaded, `failed` when a file of it cannot be loaded. */
function loadPass(entry, folder, done, failed) {
  var paths = [];
  if (!packedPasses[entry.id] && entry.chunk !== null) { paths.push(folder + entry.chunk + ".js"); }
  if (!statics[entry.static]) { paths.push(folder + "p" + entry.static + ".js"); }
  scripts(paths, done, failed);
}
