/* Which passes the layers show: all measured ones, one, or a stretch of them, exact to the pass. Rows of several passes
   that are not shown whole are worked out pass by pass, from their operations. */
function memoryPasses(book, folder, changed, failed) {
  var list = book.data.passes, measured = [], singles = new Map(), asked = null,
      chosen = { mode: "all", from: 0, to: 0 };
  list.forEach(function(entry, k) {
    if (!book.rows[entry[4]].outside) { measured.push(k); }
  });
  if (measured.length) { chosen.from = chosen.to = measured[0]; }

  function single(k) {
    var row = book.rows[list[k][4]];
    return row.n === 1 ? row : singles.get(k) || null;
  }
  /* The stretch as whole rows and single passes. */
  function stretch(from, to) {
    var within = new Map(), made = { rows: [], passes: [] };
    measured.forEach(function(k) {
      if (k < from || k > to) { return; }
      var row = list[k][4];
      if (!within.has(row)) { within.set(row, []); }
      within.get(row).push(k);
    });
    within.forEach(function(passes, row) {
      if (passes.length === book.rows[row].n) {
        made.rows.push(row);
      } else {
        made.passes = made.passes.concat(passes);
      }
    });
    return made;
  }
  function load(wanted) {
    var key = wanted.join();
    if (asked === key) { return; }
    asked = key;
    var left = wanted.length;
    wanted.forEach(function(k) {
      var entry = list[k];
      loadPass({ id: entry[0], chunk: entry[2], static: entry[3] }, folder,
        function() {
          if (asked !== key) { return; }
          singles.set(k, book.ofPass(passOf(entry[0], entry[3])));
          left -= 1;
          if (left === 0) {
            asked = null;
            changed();
          }
        },
        function() {
          if (asked === key) { failed(); }
        });
    });
  }
  function shown() {
    return chosen.mode === "one" ? { rows: [], passes: [chosen.to] } : stretch(chosen.from, chosen.to);
  }
  function missing() {
    return chosen.mode === "all" ? [] : shown().passes.filter(function(k) { return !single(k); });
  }

  return {
    chosen: chosen,
    set: function(to) {
      var several = { mean: true, sum: true };
      if (to.mode !== undefined) {
        if (several[to.mode] && !several[chosen.mode] && measured.length) {
          chosen.from = measured[0];
          chosen.to = measured[measured.length - 1];
        }
        chosen.mode = to.mode;
      }
      if (to.from !== undefined) {
        chosen.from = Math.max(0, Math.min(to.from, list.length - 1));
        chosen.to = Math.max(chosen.to, chosen.from);
      }
      if (to.to !== undefined) {
        chosen.to = Math.max(0, Math.min(to.to, list.length - 1));
        chosen.from = chosen.mode === "one" ? chosen.from : Math.min(chosen.from, chosen.to);
      }
      var kept = new Map(), wanted = shown().passes;
      wanted.forEach(function(k) {
        if (singles.has(k)) { kept.set(k, singles.get(k)); }
      });
      singles = kept;
      var lacking = missing();
      if (lacking.length) {
        load(lacking);
      } else {
        asked = null;
      }
    },
    /* What they used together; until single passes have come, what the rows that hold them used in the mean. */
    use: function() {
      if (chosen.mode === "all") {
        return book.together(measured.map(function(k) { return list[k][4]; })
            .filter(function(row, i, all) { return all.indexOf(row) === i; }));
      }
      if (missing().length) { return book.rows[list[chosen.to][4]]; }
      var parts = shown(), made = book.together(parts.rows, parts.passes.map(single));
      if (chosen.mode === "sum") { made.n = 1; } /* not in the mean */
      return made;
    },
    /* The pass whose operations stand for what is shown: the one, or the last of a stretch, that used the piece. */
    user: function(piece) {
      var within =
        measured.filter(function(k) { return chosen.mode === "all" || (k >= chosen.from && k <= chosen.to); });
      var found = within.filter(function(k) {
        var one = single(k) || book.rows[list[k][4]];
        return one.use.has(piece);
      });
      return chosen.mode === "one" ? chosen.to : found.length ? found[found.length - 1] : chosen.to;
    },
    /* All measured passes added up: what the scale of sums must hold. */
    whole: function() { return book.together(stretch(0, list.length - 1).rows); },
    words: function() {
      var n = measured.filter(function(k) { return k >= chosen.from && k <= chosen.to; }).length;
      if (missing().length) { return list[chosen.to][1] + " (mean of its row, loading …)"; }
      return chosen.mode === "one" ? list[chosen.to][1] :
        !n                         ? "no measured pass" :
        n === 1                    ? list[chosen.to][1] :
                                     list[chosen.from][1] + " to " + list[chosen.to][1] + ": " + n + " passes";
    }
  };
}
