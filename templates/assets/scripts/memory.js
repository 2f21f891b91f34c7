/* The memory explorer: every tensor of every token; loaded when it comes into view. */
function memoryExplorer(root, state, book) {
  function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
  var canvas = part("picture"), lens = part("lens"), view = "tokens", quantity = "touched_bytes", order = "file";
  var places, made, drawn, look = { from: 0, to: 1 }, mark = null, playing = null, logged = false, scale;
  var passes = memoryPasses(book, state.data + "ops/", function() { build(true); },
    function() { part("status").textContent = "The passes could not be loaded."; });
  var chosen = passes.chosen;
  var names = { touched_bytes: "bytes touched", n_uses: "times used", work_ns: "time of its operations" };

  function say(name, value, n) {
    if (value === null || value === undefined) { return "not recorded"; }
    return name === "work_ns" ? took(value / n) : name === "n_uses" ? three(value / n) : bytesOf(value / n);
  }
  /* One scale per quantity for the run: of single passes, of whole layers, or of all passes added up. */
  function topOf() {
    var top = book.data.top[quantity] || 1;
    function rise(one, n) {
      if (one && one[quantity] / n > top) { top = one[quantity] / n; }
    }
    if (view === "matrix") {
      made.lanes.forEach(function(lane) { lane.blocks.forEach(function(block) { rise(block.one, block.n); }); });
    }
    if (view === "layers" && chosen.mode === "sum") {
      passes.whole().use.forEach(function(one) { rise(one, 1); });
    }
    return top;
  }
  function bands() {
    var shown = [], layers = [];
    places.sorted.forEach(function(piece) {
      var from = places.at[piece.i], to = from + piece.size, name = state.groups[piece.component] || "other",
          last = shown[shown.length - 1], layer = layers[layers.length - 1];
      if (last && last.name === name && from - last.to < 4096) {
        last.to = to;
      } else {
        shown.push({ name: name, from: from, to: to, colour: colourOf(canvas, state.colours[name]) });
      }
      if (layer && layer.layer === piece.layer && from - layer.to < 4096) {
        layer.to = to;
      } else {
        layers.push({ layer: piece.layer, from: from, to: to });
      }
    });
    look.bands = shown;
    look.layers = layers;
  }

  function build(keep) {
    places = memoryPlaces(book, order);
    made = memoryLanes(book, view, places, view === "layers" ? passes.use() : null);
    if (!keep || look.to > made.total) {
      look.from = 0;
      look.to = made.total;
    }
    look.bands = null;
    if (view === "tokens") { bands(); }
    scale = memoryScale(topOf());
    look.quantity = quantity;
    look.scale = scale;
    legend();
    controls();
    if (mark) { mark = find(mark.piece, mark.lane); }
    draw();
    tell();
  }
  function draw() {
    if (view === "matrix") {
      look.left = book.rows[Math.max(0, Math.floor(look.from))].label;
      look.right = book.rows[Math.min(book.rows.length, Math.ceil(look.to)) - 1].label;
    } else {
      look.left = bytesOf(Math.round(look.from));
      look.right = bytesOf(Math.round(look.to)) +
        (view === "tokens" && order === "file" ? " of the file" :
            view === "layers"                  ? " of a layer" :
                                                 " of tensors");
    }
    drawn = memoryDraw(canvas, made, look, mark);
    drawLens();
  }
  var soon = redrawn(function() {
    if (view === "tokens") { bands(); }
    draw();
  });

  function legend() {
    var list = part("legend");
    list.textContent = "";
    list.appendChild(make("li", "",
      names[quantity] + (chosen.mode === "sum" && view === "layers" ? ", added up, up to" : " per pass, up to")));
    scale.ends.forEach(function(end, i) {
      var item = make("li"), swatch = make("i", "tg-swatch");
      swatch.style.background = "var(--tg-s" + i + ")";
      item.appendChild(swatch);
      item.appendChild(document.createTextNode(quantity === "work_ns" ? took(Math.round(end)) :
          quantity === "n_uses"                                       ? three(end) :
                                                                        bytesOf(end)));
      list.appendChild(item);
    });
  }
  function controls() {
    var several = chosen.mode === "mean" || chosen.mode === "sum";
    part("slide").hidden = view !== "layers" || chosen.mode === "all";
    part("from").hidden = !several;
    part("order").disabled = view !== "tokens";
    part("first").max = part("slider").max = book.data.passes.length - 1;
    part("first").value = chosen.from;
    part("slider").value = chosen.to;
    part("at").textContent = passes.words();
  }

  /* Pointing: the smallest block under the pointer, or within two pixels of it. */
  function blockAt(lane, px) {
    var best = null;
    made.lanes[lane].blocks.forEach(function(block) {
      var a = drawn.x(block.from), b = Math.max(drawn.x(block.from + block.size), a + 2);
      if (px >= a - 1 && px <= b + 1 && (block.one || view !== "tokens") && (!best || block.size < best.size)) {
        best = block;
      }
    });
    return best;
  }
  function find(piece, lane) {
    var k, found;
    function own(l) {
      return made.lanes[l] && made.lanes[l].blocks.filter(function(block) { return block.piece === piece; })[0];
    }
    if (piece && (found = own(lane))) { return { lane: lane, block: found, piece: piece }; }
    for (k = 0; piece && k < made.lanes.length; k += 1) {
      if ((found = own(k))) { return { lane: k, block: found, piece: piece }; }
    }
    return null;
  }
  function point(lane, block) {
    mark = block ? { lane: lane, block: block, piece: block.piece } : null;
    tell();
    soon();
  }
  function tell() {
    var list = part("about"), facts = [];
    list.textContent = "";
    if (mark) {
      var piece = mark.piece, one = mark.block.one, n = mark.block.n || made.lanes[mark.lane].n;
      if (piece) {
        facts = [
          ["Tensor", piece.name + (piece.expert === null ? "" : ", expert " + piece.expert)],
          ["Layer", piece.layer === null ? "none" : String(piece.layer)], ["Component", piece.component],
          ["Type", piece.dtype], ["Offset in " + book.data.files[piece.file][0], exact(piece.offset)],
          ["Size", bytesOf(piece.size) + " (" + exact(piece.size) + " bytes)"]
        ];
      } else {
        facts = [["Layer", made.lanes[mark.lane].name], ["Tokens", book.rows[mark.block.row].label]];
      }
      facts.push([
        view === "tokens" ? made.lanes[mark.lane].name : "Memory", one ? (one.copied ? "copied" : "mapped") : "not used"
      ]);
      Object.keys(names).forEach(function(name) {
        facts.push([
          names[name][0].toUpperCase() + names[name].slice(1) + (n > 1 ? ", mean of " + n : ""),
          one ? say(name, one[name], n) : "0"
        ]);
      });
      if (view === "tokens") {
        var held = book.rows[made.lanes[mark.lane].row].buffers;
        facts.push([
          "Touched in buffers, this row; a byte used twice counts twice",
          Object.keys(held).map(function(k) { return k + " " + bytesOf((held[k] || 0) / n); }).join(", ") || "none"
        ]);
      }
    }
    (facts.length ? facts : [["", "Point at a block, or choose a tensor."]]).forEach(function(pair) {
      var box = make("div");
      box.appendChild(make("dt", "", pair[0]));
      box.appendChild(make("dd", "", pair[1]));
      list.appendChild(box);
    });
  }
  function drawLens() { memoryLens(lens, mark && made.lanes[mark.lane], mark, look, book); }

  function log() {
    var row = view === "tokens" ? book.rows[made.lanes[mark.lane].row] : null;
    var pass = row ? book.data.passes.filter(function(p) { return p[0] === row.first; })[0] :
                     book.data.passes[passes.user(mark.piece.i)];
    memoryLog(part("log"), part("status"), state.data, pass, mark.piece, book.firstOf(mark.piece.tensor).offset,
      book.data.graphs);
    part("split").hidden = false;
  }
  function choose() {
    if (!mark || !mark.piece) { return; }
    logged = true;
    history.replaceState(null, "", "#tensor=" + mark.piece.tensor);
    log();
  }

  function zoom(by, middle) {
    var span = Math.min(Math.max((look.to - look.from) * by, made.total / 1e7, 1e-9), made.total),
        at = middle === undefined ? (look.from + look.to) / 2 : middle;
    var share = (at - look.from) / (look.to - look.from);
    look.from = Math.max(0, Math.min(at - share * span, made.total - span));
    look.to = look.from + span;
    soon();
  }
  function pan(by) {
    var span = look.to - look.from;
    look.from = Math.max(0, Math.min(look.from + by * span, made.total - span));
    look.to = look.from + span;
    soon();
  }
  function fit() {
    if (!mark) { return; }
    var size = Math.max(mark.block.size * 1.5, made.total / 1e6);
    look.from = Math.max(0, mark.block.from - (size - mark.block.size) / 2);
    look.to = Math.min(made.total, look.from + size);
    soon();
  }
  function step(by) {
    var lane = mark ? mark.lane : 0,
        blocks = made.lanes[lane].blocks.slice().sort(function(a, b) { return a.from - b.from; });
    var at = mark ? blocks.indexOf(mark.block) : by > 0 ? -1 : blocks.length;
    var next = blocks[Math.max(0, Math.min(at + by, blocks.length - 1))];
    if (next) {
      point(lane, next);
      if (next.from < look.from || next.from + next.size > look.to) {
        pan((next.from + next.size / 2 - (look.from + look.to) / 2) / (look.to - look.from));
      }
    }
  }
  function lane(by) {
    var k = Math.max(0, Math.min((mark ? mark.lane : 0) + by, made.lanes.length - 1)),
        middle = mark ? mark.block.from + mark.block.size / 2 : look.from, best = null;
    made.lanes[k].blocks.forEach(function(block) {
      if (!best || Math.abs(block.from + block.size / 2 - middle) < Math.abs(best.from + best.size / 2 - middle)) {
        best = block;
      }
    });
    if (best) { point(k, best); }
  }
  function tensor(number) {
    var piece = book.firstOf(number);
    if (!piece) {
      part("status").textContent = number === null ? "No tensor lies there." : "This run has no tensor " + number + ".";
      return;
    }
    if (view === "matrix") {
      view = part("view").value = "tokens";
      build();
    }
    mark = find(piece, mark ? mark.lane : 0);
    if (!mark) {
      part("status").textContent = piece.name + " is used by no pass: it has no block.";
      return;
    }
    part("status").textContent = "";
    fit();
    tell();
    choose();
  }
  /* The border between picture and log: what is above it grows, what is below stays as high as it is. */
  function split(high) {
    look.high = Math.max(160, Math.min(high, 1200));
    part("split").setAttribute("aria-valuenow", String(Math.round(look.high)));
    soon();
  }
  function move(to) {
    passes.set(to);
    build(true);
    if (logged && mark && mark.piece) { log(); }
  }
  function play() {
    if (playing) {
      clearInterval(playing);
      playing = null;
    } else {
      var last = book.data.passes.length - 1;
      if (chosen.to >= last) { move({ to: chosen.mode === "one" ? 0 : chosen.from }); }
      playing = setInterval(function() {
        if (chosen.to >= last) {
          play();
        } else {
          move({ to: chosen.to + 1 });
        }
      }, 700);
    }
    part("play").textContent = playing ? "stop" : "play";
    part("play").setAttribute("aria-pressed", String(Boolean(playing)));
  }

  function where(event) {
    var box = canvas.getBoundingClientRect(), px = event.clientX - box.left,
        k = Math.floor((event.clientY - box.top - drawn.ruler) / drawn.step);
    return { px: px, lane: k >= 0 && k < made.lanes.length ? k : -1 };
  }
  var drag = null;
  canvas.addEventListener("pointerdown", function(event) {
    drag = { x: event.clientX, from: look.from, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", function(event) {
    var to = where(event);
    if (drag && Math.abs(event.clientX - drag.x) > 4) {
      drag.moved = true;
      var span = look.to - look.from;
      look.from = Math.max(0, Math.min(drag.from - (event.clientX - drag.x) / drawn.per, made.total - span));
      look.to = look.from + span;
      soon();
    } else if (to.lane >= 0 && to.px >= drawn.left) {
      point(to.lane, blockAt(to.lane, to.px));
    }
  });
  canvas.addEventListener("pointerup", function(event) {
    var to = where(event), moved = drag && drag.moved;
    drag = null;
    if (!moved && to.lane >= 0) {
      point(to.lane, blockAt(to.lane, to.px));
      choose();
    }
  });
  canvas.addEventListener("wheel", function(event) {
    if (!event.ctrlKey && document.activeElement !== canvas) { return; }
    event.preventDefault();
    zoom(Math.exp(event.deltaY / 300), drawn.at(where(event).px));
  }, { passive: false });
  canvas.addEventListener("keydown", function(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) { return; }
    var keys = {
      "+": function() { zoom(0.5, mark ? mark.block.from + mark.block.size / 2 : undefined); },
      "-": function() { zoom(2); },
      "0": function() { build(); },
      f: fit,
      Enter: choose,
      ArrowLeft: function() {
        if (event.shiftKey) {
          pan(-0.2);
        } else {
          step(-1);
        }
      },
      ArrowRight: function() {
        if (event.shiftKey) {
          pan(0.2);
        } else {
          step(1);
        }
      },
      ArrowUp: function() { lane(-1); },
      ArrowDown: function() { lane(1); }
    };
    keys["="] = keys["+"];
    if (keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  var border = part("split"), pulled = null;
  border.addEventListener("pointerdown", function(event) {
    pulled = { y: event.clientY, high: drawn.step * made.lanes.length };
    border.setPointerCapture(event.pointerId);
  });
  border.addEventListener("pointermove", function(event) {
    if (pulled) { split(pulled.high + event.clientY - pulled.y); }
  });
  border.addEventListener("pointerup", function() { pulled = null; });
  border.addEventListener("keydown", function(event) {
    var by = { ArrowUp: -20, ArrowDown: 20 }[event.key];
    if (by) {
      event.preventDefault();
      split(drawn.step * made.lanes.length + by);
    }
  });
  part("view").addEventListener("change", function(event) {
    view = event.target.value;
    if (playing) { play(); }
    if (view !== "layers") { passes.set({ mode: part("which").value = "all" }); }
    build();
  });
  part("quantity").addEventListener("change", function(event) {
    quantity = event.target.value;
    build(true);
  });
  part("order").addEventListener("change", function(event) {
    order = event.target.value;
    build();
  });
  part("which").addEventListener("change", function(event) {
    if (view !== "layers") {
      view = part("view").value = "layers";
      look.to = Infinity;
    } /* where passes can be chosen */
    move({ mode: event.target.value });
  });
  part("first").addEventListener("input", function(event) { move({ from: parseInt(event.target.value, 10) }); });
  part("slider").addEventListener("input", function(event) { move({ to: parseInt(event.target.value, 10) }); });
  part("play").addEventListener("click", play);
  part("closer").addEventListener(
    "click", function() { zoom(0.5, mark ? mark.block.from + mark.block.size / 2 : undefined); });
  part("farther").addEventListener("click", function() { zoom(2); });
  part("fit").addEventListener("click", fit);
  part("whole").addEventListener("click", function() { build(); });
  Object.keys(book.data.tensors).forEach(function(number) {
    var option = make("option");
    option.value = book.data.tensors[number][0];
    part("names").appendChild(option);
  });
  part("find").addEventListener("change", function(event) {
    var text = event.target.value.toLowerCase(), all = Object.keys(book.data.tensors);
    function name(number) { return book.data.tensors[number][0].toLowerCase(); }
    var found = all.filter(function(number) { return name(number) === text; })[0] ||
      all.filter(function(number) { return name(number).indexOf(text) >= 0; })[0];
    if (!text) { return; }
    if (found === undefined) {
      part("status").textContent = "No tensor has such a name.";
    } else {
      tensor(parseInt(found, 10));
    }
  });
  function follow() {
    var to = address(), piece = to.offset === undefined ? null : book.lies(to.file || 0, to.offset);
    if (to.tensor === undefined && to.offset === undefined) { return; }
    tensor(to.tensor === undefined ? piece && piece.tensor : to.tensor);
    root.scrollIntoView({ block: "start" });
  }
  window.addEventListener("hashchange", follow);
  build();
  follow();
}

starts.push(function() {
  var state = stateOf("tg-memory"), root = document.getElementById("explorer");
  if (!state || !root) { return; }
  root.hidden = false;
  var asked = false;
  window.tracegenMemory = function(data) { memoryExplorer(root, state, memoryBook(data)); };
  function load() {
    if (asked) { return; }
    asked = true;
    script(state.data + "memory.js", function() {},
      function() {
        root.querySelector("[data-tg=status]").textContent = "The data of this explorer could not be loaded.";
      });
  }
  if (/[#&](tensor|offset)=/.test(location.hash) || !window.IntersectionObserver) {
    load();
    return;
  }
  window.addEventListener("hashchange", load);
  new IntersectionObserver(function(seen, watch) {
    if (seen[0].isIntersecting) {
      watch.disconnect();
      load();
    }
  }, { rootMargin: "200px" }).observe(root);
});
