/* The timeline of any pass. Its state is in timeline_state.js, its words in timeline_told.js, its picture in
   timeline_picture.js, its pointer input in timeline_pointer.js. */
function timeline(state, root) {
  function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
  function say(text) { part("status").textContent = text; }
  var carried = state.passes.filter(function(pass) { return pass.chunk !== null; }), byId = {}, place = {};
  var canvas = part("lanes"), shown = null, wanted = null;
  state.passes.forEach(function(pass) { byId[pass.id] = pass; });
  carried.forEach(function(pass, i) { place[pass.id] = i; });
  var view = timelineView(function() { return nodesOf[byId[shown].graph]; });
  var picture = lanesPicture(canvas, view), strip = stripPicture(part("strip"), state.passes, part("pass"), go);
  var soon = redrawn(function() {
    if (shown !== null) { picture.draw(); }
  });
  function kinds() {
    timelineKinds(view, state, part("colours").value === "op");
    timelineLegend(part("legend"), view);
    soon();
  }
  function put(id) {
    shown = id;
    view.lanes = lanesOf(id);
    kinds();
    timelineWhole(view);
    part("label").textContent = byId[id].label;
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
      acts.choose(node === undefined ? null : timelineFind(view, node));
      say(node === undefined || view.chosen ? message || "" : timelineMissed(node, id));
      acts.reveal();
    });
  }
  function go(id) {
    history.replaceState(null, "", "#pass=" + id);
    show(id);
  }
  function follow() {
    var to = address(), id = to.pass === undefined ? state.shown : to.pass;
    if (!byId[id] || byId[id].chunk === null) {
      show(shown === null ? state.shown : shown, undefined,
        (byId[id] ? "This page does not hold the threads’ times of pass " : "This run has no pass ") + id + ".");
      return;
    }
    show(id, to.node);
    if (to.pass !== undefined) { root.scrollIntoView({ block: "start" }); }
  }
  function step(by) {
    var next = carried[place[shown] + by];
    if (next) { go(next.id); }
  }

  /* The address of a place. */
  function hash(at) { return "#pass=" + shown + (at ? "&node=" + view.lanes[at.lane].node[at.i] : ""); }
  function operation(at) { return state.operations + hash(at); }
  var acts = timelineActs(view, {
    soon: soon,
    tell: function() { timelineTell(part("about"), view, operation); },
    cursor: function(name) { canvas.style.cursor = name; },
    remember: function() { history.replaceState(null, "", hash(view.chosen)); },
    leave: function() { location.assign(operation(view.chosen)); }
  });
  root.hidden = false;
  part("choose").addEventListener("change", function(event) { go(parseInt(event.target.value, 10)); });
  part("colours").addEventListener("change", kinds);
  timelineInput(part, acts, step);
  moved(canvas, acts, picture);
  paged(step);
  window.addEventListener("hashchange", follow);
  follow();
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
    whole: function() { acts.look(0, acts.view.whole); }
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
