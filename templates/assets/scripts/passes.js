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
  var made = pass.node.map(function(node) {
    var one = known.about[node];
    return one ? known[name][one.at] : null;
  });
  var pairs = unpack(pass[name] || ""), row = 0;
  for (var i = 0; i < pairs.length; i += 2) {
    row += pairs[i];
    made[row] = pairs[i + 1];
  }
  return made;
}

/* The units that each operand of `selects` touched: "node.slot" -> { unit, runs: [[first, how many], …], size, bytes },
   both in bytes or null. */
function unitsOf(pass, known) {
  var numbers = unpack(pass.units), at = 0, made = {};
  known.selects.forEach(function(one) {
    var n = numbers[at], runs = [], sum = 0, next = 0;
    at += 1;
    for (var i = 0; i < n; i += 1, at += 2) {
      var first = next + numbers[at], count = numbers[at + 1] + 1;
      runs.push([first, count]);
      sum += count;
      next = first + count;
    }
    if (n) {
      made[one[0] + "." + one[1]] = {
        unit: one[2],
        runs: runs,
        size: one[3],
        bytes: one[3] === null ? null : sum * one[3]
      };
    }
  });
  return made;
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
  var made = { id: id, known: known, node: packed.node, units: unitsOf(packed, known) }, last = 0;
  made.begin = unpack(packed.begin).map(function(gap) {
    if (gap === null) { return null; }
    last += gap;
    return last;
  });
  ["duration", "work", "barrier", "wait"].forEach(function(name) { made[name] = unpack(packed[name]); });
  ["disk", "copied", "buffer", "threads"].forEach(function(name) { made[name] = steady(packed, known, name); });
  made.note = packed.node.map(function(node, i) {
    var one = known.about[node];
    return packed.note && packed.note[i] !== undefined ? packed.note[i] : one ? known.note[one.at] : "";
  });
  made.ran = {}; /* an op that did not run accessed nothing */
  packed.node.forEach(function(node,
    i) { made.ran[node] = made.note[i] === "" || made.note[i].indexOf("fused") === 0; });
  unpackedPasses[id] = made;
  return made;
}
function operandsOf(pass, node) { return (pass.ran[node] && pass.known.operands[node]) || []; }

/* Calls `done` when the pass (an entry of the page's list) is loaded, `failed` when a file of it cannot be loaded. */
function loadPass(entry, folder, done, failed) {
  var paths = [];
  if (!packedPasses[entry.id] && entry.chunk !== null) { paths.push(folder + entry.chunk + ".js"); }
  if (!statics[entry.static]) { paths.push(folder + "p" + entry.static + ".js"); }
  scripts(paths, done, failed);
}
