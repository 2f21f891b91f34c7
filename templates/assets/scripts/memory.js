/* The memory explorer: every tensor of every token; its data is loaded when it comes into view. Its state is in
   memory_state.js, its words in memory_labels.js, its input in memory_input.js. */
function memoryExplorer(root, state, book) {
  function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
  function say(text) { part("status").textContent = text; }
  var asked = memoryAsked(part);
  var canvas = part("picture"), now = {
    book: book,
    part: part,
    canvas: canvas,
    view: asked.view,
    quantity: asked.quantity,
    order: asked.order,
    pages: memoryPages(book),
    look: { from: 0, to: 1 },
    mark: null
  };
  var acts = { build: build, say: say };
  now.passes = memoryPasses(book, state.data + "ops/", function() { build(true); },
    function() { say("The passes could not be loaded."); });
  acts.soon = redrawn(function() {
    ruler();
    draw();
  });

  function ruler() {
    var strips = now.view === "tokens" ? memoryRuler(now.places, state.groups) : { bands: null };
    if (strips.bands) {
      strips.bands.forEach(function(band) { band.colour = colourOf(canvas, state.colours[band.name]); });
    }
    Object.assign(now.look, strips);
  }
  function build(keep) {
    memoryLaid(now, keep);
    ruler();
    memoryLegend(now);
    memoryControls(now);
    draw();
    memoryTell(now);
  }
  function draw() {
    memoryEnds(now);
    now.drawn = memoryDraw(canvas, now.layout, now.look, now.mark);
    memoryLens(part("lens"), now.mark && now.layout.lanes[now.mark.lane], now.mark, now.look, book);
  }

  acts.rows = function(page) { memoryRows(now, acts, page, state.data + "ops/"); };
  memoryMoves(now, acts);
  memoryChoice(now, acts, state);
  memoryPlay(now, acts);
  [memoryPointer, memoryKeys, memoryBorder, memoryForm].forEach(function(listen) { listen(now, acts); });

  selectionNames.tensor =
    function(number) { return book.data.tensors[number] ? book.data.tensors[number][0] : "tensor " + number; };
  function follow(jump) {
    var to = address(), piece = to.offset === undefined ? null : book.lies(to.file || 0, to.offset);
    if (to.tensor === undefined && to.offset === undefined) { return; }
    if (to.tensor !== undefined && now.mark && now.mark.piece && now.mark.piece.tensor === to.tensor) { return; }
    acts.tensor(to.tensor === undefined ? piece && piece.tensor : to.tensor, to.expert, true);
    if (jump) { leadTo(root); }
  }
  whenSelected(follow);
  build();
  follow(true);
  selectionBar();
}

/* Choosing a tensor or a pass; the operations of the chosen tensor are listed below the picture. */
function memoryChoice(now, acts, state) {
  var part = now.part, book = now.book, logged = false;
  /* Lists the operations of the chosen pass if the row has it, else of the first pass of the row, or of the pass that
     represents the shown passes. */
  function log() {
    var piece = now.mark.piece, ofRow = now.view === "tokens" ? now.layout.lanes[now.mark.lane].row.passes : null,
        wanted = address().pass;
    var pass = ofRow === null ? book.data.passes[now.passes.user(piece.i)] :
                                ofRow.filter(function(p) { return p[0] === wanted; })[0] || ofRow[0];
    memoryLog(part("log"), part("status"), state.data, pass, piece, book.firstOf(piece.tensor).offset,
      book.data.graphs);
    part("split").hidden = false;
  }
  /* Chooses the marked block: its tensor, its expert, and the pass of its row if the row is one pass. */
  acts.choose = function() {
    if (!now.mark || !now.mark.piece) { return; }
    var row = now.view === "tokens" ? now.layout.lanes[now.mark.lane].row.passes : [],
        chosen = { tensor: now.mark.piece.tensor, expert: now.mark.piece.expert, file: null, offset: null };
    logged = true;
    if (row.length === 1) { chosen.pass = row[0][0]; }
    putAddress(chosen);
    log();
  };
  /* The lane of the chosen pass, else the marked one, else the first. */
  function wantedLane() {
    var wanted = address().pass, lane = -1;
    if (now.view === "tokens" && wanted !== undefined) {
      lane = now.layout.lanes.findIndex(
        function(l) { return l.row && l.row.passes.some(function(p) { return p[0] === wanted; }); });
    }
    return lane >= 0 ? lane : now.mark ? now.mark.lane : 0;
  }
  /* Marks a tensor, or an expert of it: without one, that of which the chosen pass has most. `still`: because the
     address asks for it, so that Back has nothing to undo. */
  acts.tensor = function(number, expert, still) {
    var piece = expert !== undefined && book.expertOf(number, expert) || book.firstOf(number);
    if (!piece) {
      acts.say(number === null ? "There is no tensor at this place." : "This run has no tensor " + number + ".");
      return;
    }
    if (now.view === "matrix") {
      now.view = part("view").value = "tokens";
      acts.build();
    }
    now.mark = memoryFind(now, expert === undefined && memoryMost(now, number, wantedLane()) || piece, wantedLane());
    if (!now.mark) {
      acts.say(piece.name + " was touched by no pass, so it has no block.");
      return;
    }
    acts.say("");
    acts.fit();
    memoryTell(now);
    logged = true;
    putAddress({ tensor: number, expert: expert === undefined ? null : expert, file: null, offset: null }, undefined,
      still);
    log();
  };
  acts.move = function(to) {
    now.passes.set(to);
    acts.build(true);
    if (logged && now.mark && now.mark.piece) { log(); }
  };
}

/* Zooming and moving along the axis, and stepping from block to block. */
function memoryMoves(now, acts) {
  var look = now.look, soon = acts.soon;
  acts.point = function(lane, block) {
    now.mark = block ? { lane: lane, block: block, piece: block.piece } : null;
    memoryTell(now);
    soon();
  };
  acts.zoom = function(by, middle) {
    memoryZoom(now, by, middle);
    soon();
  };
  acts.pan = function(by) {
    memoryPan(now, by);
    soon();
  };
  acts.fit = function() {
    if (!now.mark) { return; }
    memoryFit(now);
    soon();
  };
  acts.closer = function() { acts.zoom(0.5, now.mark ? memoryMiddle(now.mark.block) : undefined); };
  acts.farther = function() { acts.zoom(2); };
  acts.whole = function() { acts.build(); };
  acts.step = function(by) {
    var lane = now.mark ? now.mark.lane : 0, next = memoryBeside(now, lane, by);
    if (!next) { return; }
    acts.point(lane, next);
    if (next.from < look.from || next.from + next.size > look.to) {
      acts.pan((memoryMiddle(next) - (look.from + look.to) / 2) / (look.to - look.from));
    }
  };
  acts.lane = function(by) {
    var k = Math.max(0, Math.min((now.mark ? now.mark.lane : 0) + by, now.layout.lanes.length - 1));
    var best = memoryNearest(now, k);
    if (best) { acts.point(k, best); }
  };
}

/* Playing: one pass after the other. */
function memoryPlay(now, acts) {
  var playing = null, chosen = now.passes.chosen, last = now.book.data.passes.length - 1, button = now.part("play");
  acts.stop = function() {
    if (playing) { acts.play(); }
  };
  acts.play = function() {
    if (playing) {
      clearInterval(playing);
      playing = null;
    } else {
      if (chosen.to >= last) { acts.move({ to: chosen.mode === "one" ? 0 : chosen.from }); }
      playing = setInterval(function() {
        if (chosen.to >= last) {
          acts.play();
        } else {
          acts.move({ to: chosen.to + 1 });
        }
      }, 700);
    }
    button.textContent = playing ? "stop" : "play";
    button.setAttribute("aria-pressed", String(Boolean(playing)));
  };
}

starts.push(function() {
  var state = stateOf("tg-memory"), root = document.getElementById("explorer");
  if (!state || !root) { return; }
  window.tracegenMemory = function(data) { memoryExplorer(root, state, memoryData(data)); };
  script(state.data + "memory.js", function() {},
    function() {
      root.querySelector("[data-tg=status]").textContent = "The data of this explorer could not be loaded.";
    });
});
