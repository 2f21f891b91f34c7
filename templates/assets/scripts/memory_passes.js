/* The passes that the view of layers shows: all measured ones, one, or a range. Where a range has only some passes of a
   row, their sums are computed pass by pass from their operations. */
/* The measured passes from `from` to `to`, as complete rows and single passes. */
function memoryStretch(book, measured, from, to) {
  var within = new Map(), parts = { rows: [], passes: [] };
  measured.forEach(function(k) {
    if (k < from || k > to) { return; }
    var row = book.data.passes[k][4];
    if (!within.has(row)) { within.set(row, []); }
    within.get(row).push(k);
  });
  within.forEach(function(passes, row) {
    if (passes.length === book.rows[row].n) {
      parts.rows.push(row);
    } else {
      parts.passes = parts.passes.concat(passes);
    }
  });
  return parts;
}
/* Changes the choice: the ends stay inside the run and in order; a range first has all measured passes. */
function memoryChosen(chosen, to, measured, last) {
  var several = { mean: true, sum: true };
  if (to.mode !== undefined) {
    if (several[to.mode] && !several[chosen.mode] && measured.length) {
      chosen.from = measured[0];
      chosen.to = measured[measured.length - 1];
    }
    chosen.mode = to.mode;
  }
  if (to.from !== undefined) {
    chosen.from = Math.max(0, Math.min(to.from, last));
    chosen.to = Math.max(chosen.to, chosen.from);
  }
  if (to.to !== undefined) {
    chosen.to = Math.max(0, Math.min(to.to, last));
    if (chosen.mode !== "one") { chosen.from = Math.min(chosen.from, chosen.to); }
  }
}
/* The sums of single passes; only those wanted last are kept. */
function memorySingles(book, folder, changed, failed) {
  var known = new Map(), wantedKey = null;
  function get(k) {
    var row = book.rows[book.data.passes[k][4]];
    return row.n === 1 ? row : known.get(k) || null;
  }
  function load(wanted) {
    var key = wanted.join(), left = wanted.length;
    if (wantedKey === key) { return; }
    wantedKey = key;
    wanted.forEach(function(k) {
      var entry = book.data.passes[k];
      loadPass({ id: entry[0], chunk: entry[2], static: entry[3] }, folder,
        function() {
          if (wantedKey !== key) { return; }
          known.set(k, book.ofPass(passOf(entry[0], entry[3])));
          left -= 1;
          if (left) { return; }
          wantedKey = null;
          changed();
        },
        function() {
          if (wantedKey === key) { failed(); }
        });
    });
  }
  return {
    get: get,
    keep: function(wanted) {
      known = new Map(Array.from(known).filter(function(entry) { return wanted.indexOf(entry[0]) >= 0; }));
    },
    want: function(lacking) {
      if (lacking.length) {
        load(lacking);
      } else {
        wantedKey = null;
      }
    }
  };
}

function memoryPasses(book, folder, changed, failed) {
  var list = book.data.passes, measured = [], chosen = { mode: "all", from: 0, to: 0 };
  var singles = memorySingles(book, folder, changed, failed);
  list.forEach(function(entry, k) {
    if (!book.rows[entry[4]].outside) { measured.push(k); }
  });
  if (measured.length) { chosen.from = chosen.to = measured[0]; }
  function inRange(k) { return k >= chosen.from && k <= chosen.to; }
  function shown() {
    if (chosen.mode === "one") { return { rows: [], passes: [chosen.to] }; }
    return memoryStretch(book, measured, chosen.from, chosen.to);
  }
  function missing() {
    return chosen.mode === "all" ? [] : shown().passes.filter(function(k) { return !singles.get(k); });
  }

  return {
    chosen: chosen,
    set: function(to) {
      memoryChosen(chosen, to, measured, list.length - 1);
      singles.keep(shown().passes);
      singles.want(missing());
    },
    /* The sums of the shown passes; until single passes are loaded, those of the row of the last shown pass. */
    use: function() {
      if (chosen.mode === "all") {
        return book.together(Array.from(new Set(measured.map(function(k) { return list[k][4]; }))));
      }
      if (missing().length) { return book.rows[list[chosen.to][4]]; }
      var parts = shown(), sums = book.together(parts.rows, parts.passes.map(singles.get));
      sums.passes = sums.n;
      if (chosen.mode === "sum") { sums.n = 1; } /* a sum, not a mean */
      return sums;
    },
    /* The pass whose operations are listed: the shown one, or the last of a range that touched the piece. */
    user: function(piece) {
      var users = measured.filter(function(k) {
        return (chosen.mode === "all" || inRange(k)) && (singles.get(k) || book.rows[list[k][4]]).use.has(piece);
      });
      return chosen.mode === "one" || !users.length ? chosen.to : users[users.length - 1];
    },
    /* The sums of all measured passes, for the scale of sums. */
    whole: function() { return book.together(memoryStretch(book, measured, 0, list.length - 1).rows); },
    words: function() {
      var n = measured.filter(inRange).length, last = list[chosen.to][1];
      if (missing().length) { return last + " (loading; until then the mean of its row)"; }
      if (chosen.mode === "one" || n === 1) { return last; }
      return n ? list[chosen.from][1] + " to " + last + ": " + n + " passes" : "no measured pass";
    }
  };
}

/* What the rows of the picture may be: the rows of the run, which hold several passes each in a long run, or then its
   measured passes one by one, MEMORY_PAGE at a time. */
var MEMORY_PAGE = 200;
function memoryPages(book) {
  var most = book.rows.reduce(function(n, row) { return Math.max(n, row.n); }, 1), each = [], at;
  var pages = [{ name: "all, up to " + most + " passes in a row", entries: null }];
  if (most === 1) { return pages; }
  each = book.data.passes.filter(function(entry) { return !book.rows[entry[4]].outside; });
  for (at = 0; at < each.length; at += MEMORY_PAGE) {
    var entries = each.slice(at, at + MEMORY_PAGE);
    pages.push({ name: entries[0][1] + " to " + entries[entries.length - 1][1], entries: entries });
  }
  return pages;
}
/* One row for each pass of `entries`, from its operations; `told(n)` is called after each. */
function memorySingleRows(book, folder, entries, told, done, failed) {
  var rows = [];
  function next() {
    var entry = entries[rows.length];
    if (!entry) {
      done(rows);
      return;
    }
    loadPass({ id: entry[0], chunk: entry[2], static: entry[3] }, folder, function() {
      var sums = book.ofPass(passOf(entry[0], entry[3]));
      delete unpackedPasses[entry[0]]; /* a page of passes is too many to keep */
      rows.push(Object.assign(sums, { label: entry[1], outside: false, first: entry[0], passes: [entry] }));
      told(rows.length);
      setTimeout(next, 0);
    }, failed);
  }
  next();
}
/* Shows a page of passes; the choice made last counts. */
function memoryRows(now, acts, page, folder) {
  now.page = page;
  function put(rows) {
    if (now.page !== page) { return; }
    acts.say("");
    now.book.lanes = rows;
    now.mark = null;
    now.canvas.setAttribute("data-rows", page.name);
    acts.build(true);
  }
  if (!page.entries) {
    put(now.book.rows);
    return;
  }
  memorySingleRows(now.book, folder, page.entries,
    function(n) {
      if (now.page === page) { acts.say(n + " of " + page.entries.length + " passes are loaded."); }
    },
    put, function() { acts.say("The passes could not be loaded."); });
}
