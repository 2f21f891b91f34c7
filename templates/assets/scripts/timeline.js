/* The timeline of any pass. Its state is in timeline_state.js, its words in timeline_labels.js, its picture in
   timeline_picture.js, its pointer input in timeline_pointer.js. */
function timeline(state, root) {
  function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
  function say(text) { part("status").textContent = text; }
  var carried = state.passes.filter(function(pass) { return pass.chunk !== null; }), byId = {}, place = {};
  var canvas = part("lanes"), shown = null, wanted = null;
  state.passes.forEach(function(pass) { byId[pass.id] = pass; });
  carried.forEach(function(pass, i) { place[pass.id] = i; });
  function nameOf(id) { return /^\d+$/.test(id) && byId[id] ? passName(id, byId[id].label) : "pass " + id; }
  var view = timelineView(function() { return nodesOf[byId[shown].graph]; });
  var picture = lanesPicture(canvas, view), strip = stripPicture(part("strip"), state, part("pass"), go);
  var soon = redrawn(function() {
    if (shown === null) { return; }
    picture.draw();
    timelineLegend(part("legend"), part("sums"), view);
    part("no-area").hidden = !view.area;
  });
  function kinds() {
    timelineKinds(view, state, part("colours").value === "op");
    soon();
  }
  function put(id) {
    shown = id;
    view.lanes = lanesOf(id);
    view.others = othersOf(byId[id]);
    kinds();
    timelineWhole(view);
    part("label").textContent = nameOf(id);
    part("choose").value = String(id);
    part("previous").disabled = place[id] === 0;
    part("next").disabled = place[id] === carried.length - 1;
    strip(id);
  }
  function show(id, node, message) {
    wanted = id;
    timelineLoad(byId[id], state.data, say, function() {
      if (wanted !== id) { return; }
      if (!spansOf[id]) {
        say("The threads’ times of pass " + id + " are missing.");
        return;
      }
      if (shown !== id) { put(id); }
      timelineArea(view, addressWords().area);
      acts.choose(node === undefined ? null : timelineFind(view, node, address().thread));
      say(node === undefined || view.chosen ? message || "" : timelineMissed(node, id));
      acts.reveal();
    });
  }
  function go(id) {
    putAddress({ pass: id, node: null, thread: null, area: null });
    show(id);
  }
  function follow(jump) {
    var to = address(), id = to.pass === undefined ? state.shown : to.pass;
    if (!byId[id] || byId[id].chunk === null) {
      show(shown === null ? state.shown : shown, undefined,
        (byId[id] ? "This page does not hold the threads’ times of pass " : "This run has no pass ") + id + ".");
      return;
    }
    show(id, to.node);
    if (to.pass !== undefined && jump) { leadTo(root); }
  }
  function step(by) {
    var next = carried[place[shown] + by];
    if (next) { go(next.id); }
  }
  var acts = timelineActs(view,
    timelinePage(view,
      { part: part, soon: soon, canvas: canvas, shown: function() { return shown; }, operations: state.operations }));
  root.hidden = false;
  part("choose").addEventListener("change", function(event) { go(parseInt(event.target.value, 10)); });
  part("colours").addEventListener("change", kinds);
  timelineInput(part, acts, step);
  moved(canvas, acts, picture);
  paged(step);
  selectionNames.pass = nameOf;
  whenSelected(follow);
  follow(true);
}

/* What the actions of the timeline change on the page and in the address. */
function timelinePage(view, on) {
  function nodeAt(at) { return view.lanes[at.lane].node[at.i]; }
  function operation(at) { return on.operations + "#pass=" + on.shown() + (at ? "&node=" + nodeAt(at) : ""); }
  return {
    soon: on.soon,
    tell: function() { timelineTell(on.part("about"), view, operation); },
    cursor: function(name) { on.canvas.style.cursor = name; },
    remember: function() {
      var at = view.chosen;
      putAddress({
        pass: on.shown(),
        node: at ? nodeAt(at) : null,
        thread: at ? view.lanes[at.lane].thread : null,
        area: view.area ? view.area.map(Math.round).join(",") : null
      });
    },
    leave: function() { location.assign(operation(view.chosen)); }
  };
}
/* Marks the area that an address names, `from,to` in ns of the pass; anything else marks none. */
function timelineArea(view, text) {
  var ends = /^(\d{1,15}),(\d{1,15})$/.exec(text || ""), from = ends && +ends[1], to = ends && +ends[2];
  view.area = ends && from < to && to <= view.whole ? [from, to] : null;
}

/* Calls `done` when the spans of a pass and the nodes of its graph are loaded. */
function timelineLoad(pass, folder, say, done) {
  var paths = [];
  if (!spansOf[pass.id]) { paths.push(folder + pass.chunk + ".js"); }
  if (!nodesOf[pass.graph]) { paths.push(folder + "g" + pass.graph + ".js"); }
  if (paths.length) { say("Loading …"); }
  scripts(paths, done, function() { say("The threads’ times of pass " + pass.id + " could not be loaded."); });
}

/* The actions of the timeline; `page` has the functions that show their results. */
function timelineActs(view, page) {
  function choose(at) {
    view.chosen = at;
    page.tell();
    page.soon();
  }
  function reveal() {
    if (!view.chosen) { return; }
    timelineReveal(view);
    page.soon();
  }
  function take(at) {
    if (!at) { return; }
    view.pointed = null;
    choose(at);
    reveal();
    page.remember();
  }
  function look(from, to) {
    timelineLook(view, from, to);
    page.soon();
  }
  function leave() {
    if (view.chosen) { page.leave(); }
  }
  return {
    view: view,
    choose: choose,
    reveal: reveal,
    look: look,
    leave: leave,
    whole: function() { return view.to - view.from >= view.whole; },
    point: function(at) {
      var same = at && view.pointed && at.lane === view.pointed.lane && at.i === view.pointed.i;
      if (same || (!at && !view.pointed)) { return; }
      view.pointed = at;
      page.cursor(at ? "pointer" : "");
      page.tell();
      page.soon();
    },
    pressed: function(at, mouse) {
      take(at);
      if (mouse) { leave(); }
    },
    zoom: function(by, time) {
      timelineZoom(view, by, time);
      page.soon();
    },
    move: function(share) {
      var by = share * (view.to - view.from);
      look(view.from + by, view.to + by);
    },
    fit: function() {
      if (!view.chosen) { return; }
      timelineFit(view);
      page.soon();
    },
    /* Marks what lies between two times, or nothing; `done`: the area is in its final place. */
    area: function(a, b, done) {
      var ends = [Math.max(0, Math.min(a, b)), Math.min(view.whole, Math.max(a, b))];
      view.area = a === null || ends[1] - ends[0] < 1 ? null : ends;
      page.soon();
      if (done) { page.remember(); }
    },
    along: function(by) { take(timelineAlong(view, by)); },
    across: function(by) { take(timelineAcross(view, by)); }
  };
}

function timelineInput(part, acts, step) {
  var buttons = {
    previous: function() { step(-1); },
    next: function() { step(1); },
    closer: function() { acts.zoom(0.5); },
    farther: function() { acts.zoom(2); },
    left: function() { acts.move(-0.25); },
    right: function() { acts.move(0.25); },
    fit: acts.fit,
    whole: function() { acts.look(0, acts.view.whole); },
    "no-area": function() { acts.area(null, null, true); },
    area: function() { acts.area(acts.view.from, acts.view.to, true); }
  };
  Object.keys(buttons).forEach(function(name) { part(name).addEventListener("click", buttons[name]); });
  var keys = {
    "+": buttons.closer,
    "=": buttons.closer,
    "-": buttons.farther,
    "0": buttons.whole,
    f: acts.fit,
    Enter: acts.leave,
    ArrowLeft: buttons.left,
    ArrowRight: buttons.right,
    ArrowUp: function() { acts.across(-1); },
    ArrowDown: function() { acts.across(1); },
    ",": function() { acts.along(-1); },
    ".": function() { acts.along(1); }
  };
  part("lanes").addEventListener("keydown", function(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) { return; }
    event.preventDefault();
    event.stopPropagation(); /* the site's theme has its own keys */
    keys[event.key]();
  });
}

starts.push(function() {
  var state = stateOf("tg-timeline"), root = document.querySelector("[data-tg=timeline]");
  if (state && root) { timeline(state, root); }
});
