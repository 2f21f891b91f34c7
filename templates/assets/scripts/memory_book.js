/* What the memory explorer knows: the pieces of the file, and what rows of passes and single passes used of them. */
function memoryBook(data) {
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
  function sums() { return { use: new Map(), n: 0 }; }
  function add(to, piece, copied, uses, bytes, work) {
    var one = to.use.get(piece);
    if (!one) { to.use.set(piece, one = { copied: copied, n_uses: 0, touched_bytes: 0, work_ns: 0 }); }
    one.copied = one.copied || copied;
    one.n_uses += uses;
    one.touched_bytes += bytes;
    one.work_ns = one.work_ns === null || work === null ? null : one.work_ns + work;
  }
  var rows = data.rows.map(function(row) {
    var made = sums(), at = 0, copied = unpack(row.copied), uses = unpack(row.n_uses),
        bytes = unpack(row.touched_bytes), work = unpack(row.work_ns);
    unpack(row.piece).forEach(function(gap, k) {
      at += gap;
      add(made, at, Boolean(copied[k]), uses[k], bytes[k], work[k]);
    });
    made.n = row.n;
    made.label = row.label;
    made.outside = row.outside;
    made.first = row.first;
    made.buffers = row.buffers;
    return made;
  });

  /* The first piece that ends behind a byte of the disk axis. */
  function after(byte) {
    var low = 0, high = pieces.length;
    while (low < high) {
      var middle = (low + high) >> 1;
      if (pieces[middle].end <= byte) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  /* The rows of passes `which` (numbers) added up, and what single passes used. */
  function together(which, singles) {
    var made = sums();
    which.map(function(k) { return rows[k]; }).concat(singles || []).forEach(function(used) {
      used.use.forEach(function(
        one, piece) { add(made, piece, one.copied, one.n_uses, one.touched_bytes, one.work_ns); });
      made.n += used.n;
    });
    return made;
  }
  /* What one pass used, from its operations. */
  function ofPass(pass) {
    var made = sums();
    made.n = 1;
    pass.node.forEach(function(node, i) {
      operandsOf(pass, node).forEach(function(o) {
        if (o[3] === null || o[5] === null) { return; }
        var used = pass.units[node + "." + o[0]], start = data.files[o[3]][1] + o[5], hit = new Map();
        var runs = used && used.size !== null ?
          used.runs.map(function(run) { return [start + run[0] * used.size, run[1] * used.size]; }) :
          o[7] ? [[start, o[7]]] :
                 [];
        runs.forEach(function(run) {
          for (var k = after(run[0]); k < pieces.length && pieces[k].begin < run[0] + run[1]; k += 1) {
            var share = Math.min(run[0] + run[1], pieces[k].end) - Math.max(run[0], pieces[k].begin);
            if (share > 0) { hit.set(k, (hit.get(k) || 0) + share); }
          }
        });
        hit.forEach(function(bytes, k) { add(made, k, o[2] === "copied", 1, bytes, pass.work[i]); });
      });
    });
    return made;
  }
  /* The piece that lies at an offset of a file, null where none does. */
  function lies(file, offset) {
    return pieces.filter(function(piece) {
      return piece.file === file && piece.offset <= offset && offset < piece.offset + piece.size;
    })[0] ||
      null;
  }
  function firstOf(number) {
    return pieces.filter(function(piece) { return piece.tensor === number; })[0];
  }
  return { data: data, pieces: pieces, rows: rows, together: together, ofPass: ofPass, firstOf: firstOf, lies: lies };
}
