/* What the timeline shows now, and what follows from that; nothing is drawn here. `view` has `lanes`, `from` and `to`
   (ns shown), `whole` (how long the pass is), and places of spans: `chosen`, `pointed`. */
var spansOf = {}, nodesOf = {};
window.tracegenSpans = function(list) { list.forEach(function(pass) { spansOf[pass.id] = pass.threads; }); };

/* The threads of a pass as pages/explorers/span_chunks.py writes them, unpacked when they are shown. */
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

/* `about` gives the words of all nodes of the graph that is shown. */
function timelineView(about) {
  var UNKNOWN = { op: "not recorded", name: "not recorded", layer: null, component: "other" };
  return {
    lanes: [],
    from: 0,
    to: 1,
    whole: 1,
    variables: [],
    chosen: null,
    pointed: null,
    about: function(node) { return (about() || {})[node] || UNKNOWN; }
  };
}
/* All of the lanes is seen, nothing chosen. */
function timelineWhole(view) {
  view.whole =
    view.lanes.reduce(function(most, lane) { return Math.max(most, spanEnd(lane, lane.begin.length - 1)); }, 1);
  view.from = 0;
  view.to = view.whole;
  view.chosen = view.pointed = null;
}
/* `from` and `to` stay inside the pass, and apart by some nanoseconds. */
function timelineLook(view, from, to) {
  var length = Math.min(Math.max(to - from, 20), view.whole);
  view.from = Math.min(Math.max(from, 0), view.whole - length);
  view.to = view.from + length;
}
/* Around a time, else around what is chosen and seen, else around the middle. */
function timelineZoom(view, by, time) {
  var at = time === undefined ? timelineCentre(view) : time;
  timelineLook(view, at - (at - view.from) * by, at + (view.to - at) * by);
}
function timelineCentre(view) {
  var begin = view.chosen ? view.lanes[view.chosen.lane].begin[view.chosen.i] : -1;
  return begin < view.from || begin > view.to ? (view.from + view.to) / 2 : begin;
}
/* A quarter of room on both sides of what is chosen. */
function timelineFit(view) {
  var lane = view.lanes[view.chosen.lane], begin = lane.begin[view.chosen.i],
      length = Math.max(spanEnd(lane, view.chosen.i) - begin, 10);
  timelineLook(view, begin - length / 4, begin + length * 1.25);
}
function timelineReveal(view) {
  var lane = view.lanes[view.chosen.lane], begin = lane.begin[view.chosen.i], end = spanEnd(lane, view.chosen.i);
  var length = view.to - view.from;
  if (begin < view.from || end > view.to) { timelineLook(view, begin - length / 3, begin + length * 2 / 3); }
}

/* The first place of a node; null where no thread has a time of it. */
function timelineFind(view, node) {
  var found = null;
  view.lanes.forEach(function(lane, number) {
    var i = lane.node.indexOf(node);
    if (i >= 0 && !found) { found = { lane: number, i: i }; }
  });
  return found;
}
/* The place after or before the chosen one on its thread; null at the end. */
function timelineAlong(view, by) {
  var from =
    view.chosen || { lane: 0, i: by > 0 ? spanAt(view.lanes[0], view.from) : spanAt(view.lanes[0], view.to) + 1 };
  return timelinePlace(view, from.lane, from.i + by);
}
/* What another thread did when the chosen one began. */
function timelineAcross(view, by) {
  var number = view.chosen ? view.chosen.lane + by : 0, lane = view.lanes[number];
  if (!lane) { return null; }
  var time = view.chosen ? view.lanes[view.chosen.lane].begin[view.chosen.i] : view.from;
  return timelinePlace(view, number, Math.max(spanAt(lane, time), 0));
}
function timelinePlace(view, lane, i) {
  return i >= 0 && i < view.lanes[lane].begin.length ? { lane: lane, i: i } : null;
}

/* Colours: a number for each of what is told apart, then the two ways of waiting; each span gets its number. */
function timelineKinds(view, state, byOp) {
  var hues = Object.keys(state.colours), names = byOp ? state.kinds.concat(["other kinds"]) : hues, used = {};
  var variables = names.map(function(name, i) {
    return state.colours[!byOp ? name : i < names.length - 1 ? hues[i] : "other"];
  });
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
  view.variables = variables.concat(["--tg-inside", "--tg-after"]);
  view.labels = names.concat(["waiting inside", timelineAfter(view)]);
  view.used = used;
}
function timelineAfter(view) {
  return view.lanes.length === 1 ? "between operations" : "waiting after";
} // nobody to wait for
