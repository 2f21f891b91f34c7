/* The data of the memory explorer: the pieces of the file, and what rows of passes and single passes touched of them.
 */

/* Sums by piece (`use`) over `n` passes. */
function memorySums() { return { use: new Map(), n: 0 }; }
var MEMORY_SUMS = ["n_uses", "touched_bytes", "used_bytes", "work_ns", "waited_ns", "read_bytes"];
function memoryNothing() {
  var nothing = { copied: false };
  MEMORY_SUMS.forEach(function(name) { nothing[name] = 0; });
  return nothing;
}
/* Adds `part`, which has MEMORY_SUMS, to the sums of a piece; a sum with an unknown part is unknown. */
function memoryAdd(to, piece, part) {
  var sums = to.use.get(piece);
  if (!sums) { to.use.set(piece, sums = memoryNothing()); }
  sums.copied = sums.copied || part.copied;
  MEMORY_SUMS.forEach(
    function(name) { sums[name] = sums[name] === null || part[name] === null ? null : sums[name] + part[name]; });
}

/* The ranges of the disk axis that an operand accessed: [from, how many bytes]. */
function memoryRanges(data, o, used) {
  var start = data.files[o[3]][1] + o[5];
  if (!used || used.size === null) { return o[7] ? [[start, o[7]]] : []; }
  return used.runs.map(function(run) { return [start + run[0] * used.size, run[1] * used.size]; });
}
/* How many different bytes lie in the ranges [from, to]. */
function memoryUnion(ranges) {
  var total = 0, reach = -1;
  ranges.sort(function(a, b) { return a[0] - b[0]; }).forEach(function(range) {
    total += Math.max(range[1] - Math.max(range[0], reach), 0);
    reach = Math.max(reach, range[1]);
  });
  return total;
}
/* The sums of one pass, from its operations; `disk` has what it waited for and read: [piece, waited, read] each, null:
   not recorded. */
function memoryUsed(data, pieces, pass, disk) {
  var sums = memorySums(), ranges = new Map(), unknown = {};
  ["waited_ns", "read_bytes"].forEach(function(name) {
    if (!disk || data.top[name] === undefined) { unknown[name] = null; }
  });
  sums.n = 1;
  function hits(range, hit) {
    var end = range[0] + range[1], k = firstWhere(pieces.length, function(i) { return pieces[i].end > range[0]; });
    for (; k < pieces.length && pieces[k].begin < end; k += 1) {
      var share = Math.min(end, pieces[k].end) - Math.max(range[0], pieces[k].begin);
      if (share <= 0) { continue; }
      hit.set(k, (hit.get(k) || 0) + share);
      if (!ranges.has(k)) { ranges.set(k, []); }
      ranges.get(k).push([Math.max(range[0], pieces[k].begin), Math.min(end, pieces[k].end)]);
    }
  }
  pass.node.forEach(function(node, i) {
    operandsOf(pass, node).forEach(function(o) {
      if (o[3] === null || o[5] === null) { return; }
      var hit = new Map();
      memoryRanges(data, o, pass.units[node + "." + o[0]]).forEach(function(range) { hits(range, hit); });
      hit.forEach(function(bytes, k) {
        var more = { copied: o[2] === "copied", n_uses: 1, touched_bytes: bytes, work_ns: pass.work[i] };
        memoryAdd(sums, k, Object.assign(memoryNothing(), unknown, more));
      });
    });
  });
  ranges.forEach(function(of, k) { sums.use.get(k).used_bytes = memoryUnion(of); });
  (disk || []).forEach(function(row) {
    memoryAdd(sums, row[0], Object.assign(memoryNothing(), { waited_ns: row[1], read_bytes: row[2] }));
  });
  return sums;
}

function memoryData(data) {
  var tensor = unpack(data.cut.tensor), expert = unpack(data.cut.expert), size = unpack(data.cut.size), last = 0;
  var begin = unpack(data.cut.begin).map(function(gap) { return (last += gap); });
  var pieces = tensor.map(function(number, i) {
    var about = data.tensors[number];
    return {
      i: i,
      tensor: number,
      expert: expert[i],
      begin: begin[i],
      size: size[i],
      end: begin[i] + size[i],
      name: about[0],
      layer: about[1],
      component: about[2],
      dtype: about[3],
      file: about[4],
      offset: begin[i] - data.files[about[4]][1]
    };
  });
  var rows = data.rows.map(function(row, number) {
    var sums = memorySums(), at = 0, copied = unpack(row.copied), columns = {};
    MEMORY_SUMS.forEach(function(name) { columns[name] = row[name] === undefined ? null : unpack(row[name]); });
    unpack(row.piece).forEach(function(gap, k) {
      var part = { copied: Boolean(copied[k]) };
      MEMORY_SUMS.forEach(function(name) { part[name] = columns[name] && columns[name][k]; });
      at += gap;
      memoryAdd(sums, at, part);
    });
    sums.n = row.n;
    sums.label = row.label;
    sums.outside = row.outside;
    sums.first = row.first;
    sums.buffers = row.buffers;
    sums.passes = data.passes.filter(function(entry) { return entry[4] === number; });
    return sums;
  });

  /* The sums of the rows `which` (numbers) and of `singles` together. */
  function together(which, singles) {
    var sums = memorySums();
    which.map(function(k) { return rows[k]; }).concat(singles || []).forEach(function(used) {
      used.use.forEach(function(part, piece) { memoryAdd(sums, piece, part); });
      sums.n += used.n;
    });
    return sums;
  }
  var places = new Map(pieces.map(function(piece) { return [piece.tensor + "," + piece.expert, piece.i]; }));
  function ofPass(pass) {
    return memoryUsed(data, pieces, pass,
      pass.from_disk &&
        pass.from_disk.map(function(row) { return [places.get(row[0] + "," + row[1]), row[2], row[3]]; }));
  }
  /* The piece at an offset of a file, or null. */
  function lies(file, offset) {
    function holds(piece) {
      return piece.file === file && piece.offset <= offset && offset < piece.offset + piece.size;
    }
    return pieces.filter(holds)[0] || null;
  }
  function firstOf(number) {
    return pieces.filter(function(piece) { return piece.tensor === number; })[0];
  }
  function expertOf(number, chosen) {
    return pieces.filter(function(piece) { return piece.tensor === number && piece.expert === chosen; })[0];
  }
  return {
    data: data,
    expertOf: expertOf,
    pieces: pieces,
    rows: rows,
    lanes: rows,
    together: together,
    ofPass: ofPass,
    firstOf: firstOf,
    lies: lies
  };
}
