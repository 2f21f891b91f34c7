/* The timeline of any pass: what is shown, what is chosen, and how pointer, keys and buttons move it. */
var spansOf = {}, nodesOf = {};
window.tracegenSpans = function(list) { list.forEach(function(pass) { spansOf[pass.id] = pass.threads; }); };

/* The threads of a pass as pages/span_chunks.py writes them, unpacked when they are shown. */
function lanesOf(id) {
  return spansOf[id].map(function(lane) {
    var at = 0, made = { thread: lane.thread, begin: unpack(lane.begin).map(function(gap) { return (at += gap); }) };
    ["node", "work", "barrier", "wait"].forEach(function(name) { made[name] = unpack(lane[name]); });
    return made;
  });
}
window.tracegenNodes = function(data) {
  var about = {};
  data.node.forEach(function(node,
    i) { about[node] = { op: data.op[i], name: data.name[i], layer: data.layer[i], component: data.component[i] }; });
  nodesOf[data.graph] = about;
};

function timeline(state, root) {
  function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
  var UNKNOWN = { op: "not recorded", name: "not recorded", layer: null, component: "other" };
  var canvas = part("lanes"), list = state.passes,
      carried = list.filter(function(pass) { return pass.chunk !== null; });
  var shown = null, wanted = null, whole = 1, byId = {}, place = {}, variables = [];
  list.forEach(function(pass) { byId[pass.id] = pass; });
  carried.forEach(function(pass, i) { place[pass.id] = i; });
  var view = {
    lanes: [],
    from: 0,
    to: 1,
    palette: [],
    colours: {},
    chosen: null,
    pointed: null,
    about: function(node) { return (nodesOf[byId[shown].graph] || {})[node] || UNKNOWN; }
  };
  var picture = lanesPicture(canvas, view);
  var strip = stripPicture(part("strip"), list, part("pass"), function(id) { go(id); });
  var soon = redrawn(draw);

  /* Colours: a number for each of what is told apart, then the two ways of waiting. */
  function kinds() {
    var byOp = part("colours").value === "op", hues = Object.keys(state.colours), used = {};
    var names = byOp ? state.kinds.concat(["other kinds"]) : hues;
    variables = names.map(function(name, i) {
      return state.colours[!byOp ? name : i < names.length - 1 ? hues[i] : "other"];
    });
    variables.push("--tg-inside", "--tg-after");
    view.inside = names.length;
    view.after = names.length + 1;
    view.lanes.forEach(function(lane) {
      lane.kind = lane.node.map(function(node) {
        var about = view.about(node), kind = names.indexOf(byOp ? about.op : state.groups[about.component] || "other");
        kind = kind < 0 ? names.length - 1 : kind;
        used[kind] = true;
        return kind;
      });
    });
    legend(names.concat(["waiting inside", after()]), used);
    soon();
  }
  function after() { return view.lanes.length === 1 ? "between operations" : "waiting after"; } // nobody to wait for
  function legend(labels, used) {
    var box = part("legend");
    box.textContent = "";
    labels.forEach(function(label, kind) {
      if (!used[kind] && kind < view.inside) { return; }
      var item = make("li", "", label), dot = make("i", "tg-dot");
      dot.style.background = "var(" + variables[kind] + ")";
      item.insertBefore(dot, item.firstChild);
      box.appendChild(item);
    });
  }
  function draw() {
    if (shown === null) { return; }
    view.palette = variables.map(function(name) { return colourOf(canvas, name); });
    ["ink", "ground", "muted", "hairline"].forEach(function(
      name) { view.colours[name] = colourOf(canvas, "--tg-" + name); });
    picture.draw();
  }

  function load(id, done) {
    var pass = byId[id], paths = [];
    if (!spansOf[id]) { paths.push(state.data + pass.chunk + ".js"); }
    if (!nodesOf[pass.graph]) { paths.push(state.data + "g" + pass.graph + ".js"); }
    if (paths.length) { part("status").textContent = "Loading …"; }
    scripts(paths, done,
      function() { part("status").textContent = "The threads’ times of pass " + id + " could not be loaded."; });
  }
  function show(id, node, said) {
    wanted = id;
    load(id, function() {
      if (wanted !== id) { return; }
      if (!spansOf[id]) {
        part("status").textContent = "The threads’ times of pass " + id + " are missing.";
        return;
      }
      part("status").textContent = said || "";
      if (shown !== id) {
        shown = id;
        view.lanes = lanesOf(id);
        kinds();
        whole =
          view.lanes.reduce(function(most, lane) { return Math.max(most, spanEnd(lane, lane.begin.length - 1)); }, 1);
        view.from = 0;
        view.to = whole;
        view.chosen = view.pointed = null;
        part("label").textContent = byId[id].label;
        part("choose").value = String(id);
        part("previous").disabled = place[id] === 0;
        part("next").disabled = place[id] === carried.length - 1;
        strip(id);
      }
      choose(node === undefined ? null : find(node));
      if (node !== undefined && !view.chosen) {
        part("status").textContent = "Node " + node + " has no time of its own in pass " + id +
          ": it was fused into another, did nothing, or was not recorded.";
      }
      reveal();
    });
  }
  function find(node) {
    var found = null;
    view.lanes.forEach(function(lane, number) {
      var i = lane.node.indexOf(node);
      if (i >= 0 && !found) { found = { lane: number, i: i }; }
    });
    return found;
  }

  /* What is told of a span, and what is remembered of it in the address. */
  function hash(place) { return "#pass=" + shown + (place ? "&node=" + view.lanes[place.lane].node[place.i] : ""); }
  function tell() {
    var box = part("about"), place = view.pointed || view.chosen, lane = place && view.lanes[place.lane];
    box.textContent = "";
    if (!place) {
      fact("operation", "none chosen: point at one, or go through them with , and .");
      return;
    }
    var node = lane.node[place.i], about = view.about(node), link = make("a", "tg-code", about.name);
    link.href = state.operations + hash(place);
    function fact(name, value) {
      var row = make("div"), told = make("dd");
      row.appendChild(make("dt", "", name));
      told.appendChild(typeof value === "string" ? document.createTextNode(value) : value);
      row.appendChild(told);
      box.appendChild(row);
    }
    fact("result", link);
    fact("operation", about.op);
    fact("node", String(node));
    fact("layer", about.layer === null ? "none" : String(about.layer));
    fact("component", about.component);
    fact("thread", String(lane.thread));
    fact("begin", took(lane.begin[place.i]));
    fact("work", took(lane.work[place.i]));
    fact("waiting inside", took(lane.barrier[place.i]));
    fact(after(), took(lane.wait[place.i]));
  }
  function choose(place) {
    view.chosen = place;
    tell();
    soon();
  }
  function point(place) {
    var same = place && view.pointed && place.lane === view.pointed.lane && place.i === view.pointed.i;
    if (same || (!place && !view.pointed)) { return; }
    view.pointed = place;
    canvas.style.cursor = place ? "pointer" : "";
    tell();
    soon();
  }
  function remember() { history.replaceState(null, "", hash(view.chosen)); }

  /* Moving and zooming: `from` and `to` stay inside the pass, and apart by some nanoseconds. */
  function look(from, to) {
    var length = Math.min(Math.max(to - from, 20), whole);
    view.from = Math.min(Math.max(from, 0), whole - length);
    view.to = view.from + length;
    soon();
  }
  function zoom(by, time) {
    var at = time === undefined ? (view.chosen ? centre() : (view.from + view.to) / 2) : time;
    look(at - (at - view.from) * by, at + (view.to - at) * by);
  }
  function centre() {
    var lane = view.lanes[view.chosen.lane], at = lane.begin[view.chosen.i];
    return at < view.from || at > view.to ? (view.from + view.to) / 2 : at;
  }
  function move(share) {
    var by = share * (view.to - view.from);
    look(view.from + by, view.to + by);
  }
  function fit() {
    if (!view.chosen) { return; }
    var lane = view.lanes[view.chosen.lane], begin = lane.begin[view.chosen.i],
        length = Math.max(spanEnd(lane, view.chosen.i) - begin, 10);
    look(begin - length / 4, begin + length * 1.25);
  }
  function reveal() {
    if (!view.chosen) { return; }
    var lane = view.lanes[view.chosen.lane], begin = lane.begin[view.chosen.i], end = spanEnd(lane, view.chosen.i);
    if (begin < view.from || end > view.to) {
      look(begin - (view.to - view.from) / 3, begin + (view.to - view.from) * 2 / 3);
    }
  }
  function along(by) {
    var from = view.chosen ||
      { lane: 0, i: by > 0 ? Math.max(spanAt(view.lanes[0], view.from), -1) : spanAt(view.lanes[0], view.to) + 1 };
    take(from.lane, from.i + by);
  }
  function across(by) {
    var lane = view.chosen ? view.chosen.lane + by : 0;
    if (!view.lanes[lane]) { return; }
    take(lane,
      Math.max(
        spanAt(view.lanes[lane], view.chosen ? view.lanes[view.chosen.lane].begin[view.chosen.i] : view.from), 0));
  }
  function take(lane, i) {
    if (i < 0 || i >= view.lanes[lane].begin.length) { return; }
    view.pointed = null;
    choose({ lane: lane, i: i });
    reveal();
    remember();
  }
  function leave() {
    if (view.chosen) { location.assign(state.operations + hash(view.chosen)); }
  }

  function go(id) {
    history.replaceState(null, "", "#pass=" + id);
    show(id);
  }
  function step(by) {
    var next = carried[place[shown] + by];
    if (next) { go(next.id); }
  }
  function follow() {
    var to = address(), id = to.pass === undefined ? state.shown : to.pass;
    if (!byId[id] || byId[id].chunk === null) {
      show(shown === null ? state.shown : shown, undefined,
        (byId[id] ? "This page does not carry the threads’ times of pass " : "This run has no pass ") + id + ".");
      return;
    }
    show(id, to.node);
    if (to.pass !== undefined) { root.scrollIntoView({ block: "start" }); }
  }

  root.hidden = false;
  part("choose").addEventListener("change", function(event) { go(parseInt(event.target.value, 10)); });
  part("colours").addEventListener("change", kinds);
  var acts = {
    previous: function() { step(-1); },
    next: function() { step(1); },
    closer: function() { zoom(0.5); },
    farther: function() { zoom(2); },
    left: function() { move(-0.25); },
    right: function() { move(0.25); },
    fit: fit,
    whole: function() { look(0, whole); }
  };
  Object.keys(acts).forEach(function(name) { part(name).addEventListener("click", acts[name]); });
  moved(canvas, {
    at: function(x, y) { return picture.at(x, y); },
    time: function(x) { return picture.time(x); },
    perPixel: function() { return picture.perPixel(); },
    view: view,
    look: look,
    zoom: zoom,
    point: point,
    whole: function() { return view.to - view.from >= whole; },
    pressed: function(place, mouse) {
      take(place.lane, place.i);
      if (mouse) { leave(); }
    }
  });
  var keys = {
    "+": acts.closer,
    "=": acts.closer,
    "-": acts.farther,
    ArrowLeft: acts.left,
    ArrowRight: acts.right,
    "0": acts.whole,
    f: fit,
    ",": function() { along(-1); },
    ".": function() { along(1); },
    ArrowUp: function() { across(-1); },
    ArrowDown: function() { across(1); },
    Enter: leave
  };
  canvas.addEventListener("keydown", function(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) { return; }
    event.preventDefault();
    event.stopPropagation(); /* the site's theme has keys of its own */
    keys[event.key]();
  });
  paged(step);
  window.addEventListener("hashchange", follow);
  follow();
}

starts.push(function() {
  var state = stateOf("tg-timeline"), root = document.querySelector("[data-tg=timeline]");
  if (state && root) { timeline(state, root); }
});
