/* The state of the timeline; nothing is drawn here. `view` has `lanes`, `from` and `to` (the visible time in ns),
   `whole` (the length of the pass), and two places of spans: `chosen`, `pointed`. */
var spansOf = {}, nodesOf = {};
window.tracegenSpans = function(list) { list.forEach(function(pass) { spansOf[pass.id] = pass.threads; }); };

/* The threads of a pass, unpacked from what pages/explorers/span_chunks.py wrote. */
function lanesOf(id) {
  return spansOf[id].map(function(lane) {
    var at = 0, thread = { thread: lane.thread, device: lane.device, name: lane.device || "thread " + lane.thread };
    thread.begin = unpack(lane.begin).map(function(gap) { return (at += gap); });
    ["node", "work", "barrier", "wait"].forEach(function(name) { thread[name] = unpack(lane[name]); });
    thread.disk = lane.disk ? unpack(lane.disk) : null;
    return thread;
  });
}
window.tracegenNodes = function(data) {
  var about = {};
  data.node.forEach(function(node,
    i) { about[node] = { op: data.op[i], name: data.name[i], layer: data.layer[i], component: data.component[i] }; });
  nodesOf[data.graph] = about;
};

/* `about` returns the nodes of the shown graph with operation, name, layer and component. */
function timelineView(about) {
  var UNKNOWN = { op: "not recorded", name: "not recorded", layer: null, component: "other" };
  return {
    lanes: [],
    others: [],
    from: 0,
    to: 1,
    whole: 1,
    variables: [],
    chosen: null,
    pointed: null,
    area: null,
    about: function(node) { return (about() || {})[node] || UNKNOWN; }
  };
}
/* The other backends of a pass, each with its splits: [backend, begin, duration, whether it was only handed over]. */
function othersOf(pass) {
  var others = [], last = null;
  (pass.others || []).forEach(function(split) {
    if (!last || last.name !== split[0]) { others.push(last = { name: split[0], splits: [] }); }
    last.splits.push(split);
  });
  return others;
}
/* Shows the whole pass, with nothing chosen. */
function timelineWhole(view) {
  view.whole =
    view.lanes.reduce(function(most, lane) { return Math.max(most, spanEnd(lane, lane.begin.length - 1)); }, 1);
  view.others.forEach(function(other) {
    other.splits.forEach(function(split) { view.whole = Math.max(view.whole, split[1] + split[2]); });
  });
  view.from = 0;
  view.to = view.whole;
  view.chosen = view.pointed = view.area = null;
}
/* Shows `from` to `to`, kept inside the pass and at least 20 ns apart. */
function timelineLook(view, from, to) {
  var length = Math.min(Math.max(to - from, 20), view.whole);
  view.from = Math.min(Math.max(from, 0), view.whole - length);
  view.to = view.from + length;
}
/* Zooms around a time, else around the chosen span if it is visible, else around the middle. */
function timelineZoom(view, by, time) {
  var at = time === undefined ? timelineCentre(view) : time;
  timelineLook(view, at - (at - view.from) * by, at + (view.to - at) * by);
}
function timelineCentre(view) {
  var begin = view.chosen ? view.lanes[view.chosen.lane].begin[view.chosen.i] : -1;
  return begin < view.from || begin > view.to ? (view.from + view.to) / 2 : begin;
}
/* Fits the chosen span, with a quarter of its length on both sides. */
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

/* The place of a node on a thread, else on the first thread that has it; null if no thread has a span of it. */
function timelineFind(view, node, thread) {
  var place = null;
  view.lanes.forEach(function(lane, number) {
    var i = lane.node.indexOf(node);
    if (i >= 0 && (!place || lane.thread === thread)) { place = { lane: number, i: i }; }
  });
  return place;
}
/* The place after or before the chosen one on its thread; null at the end of the thread. */
function timelineAlong(view, by) {
  var from =
    view.chosen || { lane: 0, i: by > 0 ? spanAt(view.lanes[0], view.from) : spanAt(view.lanes[0], view.to) + 1 };
  return timelinePlace(view, from.lane, from.i + by);
}
/* The span of a neighbouring thread at the time at which the chosen span began. */
function timelineAcross(view, by) {
  var number = view.chosen ? view.chosen.lane + by : 0, lane = view.lanes[number];
  if (!lane) { return null; }
  var time = view.chosen ? view.lanes[view.chosen.lane].begin[view.chosen.i] : view.from;
  return timelinePlace(view, number, Math.max(spanAt(lane, time), 0));
}
function timelinePlace(view, lane, i) {
  return i >= 0 && i < view.lanes[lane].begin.length ? { lane: lane, i: i } : null;
}

/* The time of all threads in each kind between `from` and `to`, ns: what lies partly in it counts partly. `ops`: how
   many operations of the first thread begin there. */
function timelineSums(view, from, to) {
  var sums = new Float64Array(view.labels.length), ops = 0;
  function add(kind, begin, length) {
    sums[kind] += Math.max(0, Math.min(begin + length, to) - Math.max(begin, from));
    return begin + length;
  }
  view.lanes.forEach(function(lane, number) {
    for (var i = Math.max(spanAt(lane, from), 0); i < lane.begin.length && lane.begin[i] < to; i += 1) {
      var disk = lane.disk ? lane.disk[i] : 0, at = lane.begin[i];
      if (number === 0 && at >= from) { ops += 1; }
      if (disk) { at = add(view.disk, at, disk); }
      at = add(lane.kind[i], at, lane.work[i] - disk);
      add(view.after, add(view.inside, at, lane.barrier[i]), lane.wait[i]);
    }
  });
  return { sums: sums, ops: ops, all: (to - from) * view.lanes.length };
}

/* Sets the colours: a number for each component group or kind of operation, then two for waiting, and one for the disk
   where page faults were recorded; each span gets the number of its work. */
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
  var disk = view.lanes.some(function(lane) { return lane.disk; });
  view.disk = names.length + 2;
  view.variables = variables.concat(["--tg-inside", "--tg-after"], disk ? ["--tg-disk"] : []);
  view.labels = names.concat(["waiting inside", timelineAfter(view)], disk ? ["waiting for the disk"] : []);
  view.used = used;
}
function timelineAfter(view) {
  return view.lanes.length === 1 ? "between operations" : "barrier wait"; // one thread waits for no other
}
