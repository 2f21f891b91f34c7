/* The words of the timeline: its legend, and the facts of the span under the pointer. */
function timelineLegend(box, sentence, view) {
  var from = view.area ? view.area[0] : view.from, to = view.area ? view.area[1] : view.to;
  var part = timelineSums(view, from, to);
  box.textContent = "";
  view.labels.forEach(function(label, kind) {
    if (!view.used[kind] && kind < view.inside) { return; }
    var item = make("li", "", label), dot = make("i", "tg-dot");
    dot.style.background = "var(" + view.variables[kind] + ")";
    item.insertBefore(dot, item.firstChild);
    item.appendChild(make("small", "",
      " " + took(Math.round(part.sums[kind])) + ", " + (100 * part.sums[kind] / part.all).toFixed(1) + "\u202f%"));
    box.appendChild(item);
  });
  sentence.textContent = "Times are sums over " + lanesNamed(view.lanes) + " of " +
    (view.area ? "the marked area" : "what is visible") + ": " + took(from) + " to " + took(to) +
    " after the pass began, " + exact(part.ops) + (part.ops === 1 ? " operation" : " operations") + "; shares are of " +
    took(Math.round(part.all)) + ".";
}

/* "4 threads", "2 threads and Vulkan0" */
function lanesNamed(lanes) {
  var devices = lanes.filter(function(lane) { return lane.device; }), n = lanes.length - devices.length;
  return [n + (n === 1 ? " thread" : " threads")]
    .concat(devices.map(function(lane) { return lane.name; }))
    .filter(function(_, i) { return n || i; })
    .join(" and ");
}

/* The facts of the span at a place: pairs of a name and a value; `link` is the value of its result. */
function timelineFacts(view, at, link) {
  var lane = view.lanes[at.lane], node = lane.node[at.i], about = view.about(node);
  var disk = lane.disk ? [["of it waiting for the disk", took(lane.disk[at.i])]] : [];
  var waits = [["waiting inside", took(lane.barrier[at.i])], [timelineAfter(view), took(lane.wait[at.i])]];
  return [
    ["result", link], ["operation", about.op], ["node", String(node)],
    ["layer", about.layer === null ? "none" : String(about.layer)], ["component", about.component],
    lane.device ? ["device", lane.device] : ["thread", String(lane.thread)], ["begin", took(lane.begin[at.i])],
    ["work", took(lane.work[at.i])]
  ].concat(disk, waits);
}
function timelineTell(box, view, hash) {
  var at = view.pointed || view.chosen, link;
  box.textContent = "";
  if (at) {
    link = make("a", "tg-code", view.about(view.lanes[at.lane].node[at.i]).name);
    link.href = hash(at);
  }
  (at ? timelineFacts(view, at, link) : [
    ["operation", "none is chosen. Point at an operation, or press comma or full stop."]
  ]).forEach(function(pair) {
    var row = make("div"), value = make("dd");
    row.appendChild(make("dt", "", pair[0]));
    value.appendChild(typeof pair[1] === "string" ? document.createTextNode(pair[1]) : pair[1]);
    row.appendChild(value);
    box.appendChild(row);
  });
}
function timelineMissed(node, id) {
  return "Node " + node + " has no time of its own in pass " + id +
    ": it was fused into another node, had nothing to compute, or was not recorded.";
}
