/* The whole graph, made of copies of the drawings of its blocks: one copy per instance, in columns from the left. */
var WHOLE_GAP = 72, WHOLE_GUTTER = 120, HEAD_PIXELS = 13;

function svgMake(tag, attributes) {
  var element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  Object.keys(attributes).forEach(function(name) { element.setAttribute(name, attributes[name]); });
  return element;
}

/* By drawing: its size, the boxes of its nodes, and the boxes of results that enter from other blocks. */
function graphTemplates(book) {
  return book.drawings.map(function(list, block) {
    var svg = document.querySelector("#g" + book.lead + "-b" + block + " svg.tg-graph"),
        inner = svg.querySelector("svg > g");
    var shift = inner.transform.baseVal.consolidate().matrix, size = svg.viewBox.baseVal;
    var template = {
      plain: graphPlain(inner),
      width: size.width,
      height: size.height,
      anchor: size.width / 2,
      boxes: {},
      enters: {}
    };
    Array.prototype.forEach.call(inner.querySelectorAll(".tg-op, .tg-noop, .tg-enter"), function(element) {
      var rect = element.querySelector("rect"), enters = element.classList.contains("tg-enter");
      var x = rect.x.baseVal.value + rect.width.baseVal.value / 2 + shift.e, top = rect.y.baseVal.value + shift.f;
      template[enters ? "enters" : "boxes"][element.getAttribute("data-node")] = {
        x: x,
        top: top,
        bottom: top + rect.height.baseVal.value
      };
      if (enters) { template.anchor = x; }
    });
    return template;
  });
}

/* The place of each block, in columns that fill a frame of size `room`, with readable heads. */
function graphPlaces(book, templates, room) {
  var all = book.facts.instances, area = 0, column = 0, y = 0, left = WHOLE_GUTTER / 2, places = [], starts = [];
  all.forEach(function(instance) {
    area += (templates[instance.block].width + WHOLE_GUTTER) * (templates[instance.block].height + WHOLE_GAP);
  });
  var scale = Math.min(1, Math.sqrt(room.width * room.height / area) * 0.9), head = HEAD_PIXELS / scale;
  all.forEach(function(instance, i) {
    var size = templates[instance.block].height + WHOLE_GAP + 1.5 * head;
    if (y > 0 && y + size > room.height / scale) {
      column += 1;
      y = 0;
    }
    (starts[column] = starts[column] || []).push(i);
    places.push({ column: column, y: y + 1.5 * head + WHOLE_GAP });
    y += size;
  });
  var height = 0, gutters = [];
  starts.forEach(function(members) {
    var before = Math.max.apply(null, members.map(function(i) { return templates[all[i].block].anchor; }));
    var after = Math.max.apply(null,
      members.map(function(i) { return templates[all[i].block].width - templates[all[i].block].anchor; }));
    members.forEach(function(i) {
      places[i].x = left + before - templates[all[i].block].anchor;
      height = Math.max(height, places[i].y + templates[all[i].block].height);
    });
    left += before + after + WHOLE_GUTTER;
    gutters.push(left - WHOLE_GUTTER / 2);
  });
  return { places: places, gutters: gutters, head: head, width: left, height: height + WHOLE_GAP };
}

/* The path of a line from a node to a later block that reads it; between columns it runs in the gutters. */
function graphLine(from, to, a, b, gutters, head) {
  var path = "M" + from.x + "," + from.y, turn = from.y + WHOLE_GAP / 4, over = b.y - 1.5 * head - WHOLE_GAP / 4;
  if (a.column === b.column && to.next) { return path + "V" + turn + "H" + to.x + "V" + to.y; }
  path += "V" + turn + "H" + gutters[a.column];
  if (b.column > a.column + 1) { path += "V" + WHOLE_GAP / 4 + "H" + gutters[b.column - 1]; }
  return path + "V" + over + "H" + to.x + "V" + to.y;
}

function wholeGraph(book, room) {
  var templates = graphTemplates(book), plan = graphPlaces(book, templates, room), all = book.facts.instances,
      home = {};
  var svg = svgMake("svg", {
    class: "tg-graph tg-all",
    viewBox: "0 0 " + plan.width + " " + plan.height,
    role: "group",
    "aria-label": "The whole graph, " + all.length + " blocks in columns"
  });
  var lines = svgMake("g", {}), blocks = svgMake("g", {}), tall = 1.5 * plan.head;
  all.forEach(function(instance, i) { instance.nodes.forEach(function(node) { home[node] = i; }); });
  all.forEach(function(instance, i) {
    var place = plan.places[i], template = templates[instance.block], twin = book.twins(i);
    var block = svgMake("g", { transform: "translate(" + place.x + "," + place.y + ")", class: "tg-block" });
    block.appendChild(svgMake("rect", {
      class: "tg-frame",
      x: -12,
      y: -tall,
      width: Math.max(template.width, template.anchor + 5 * plan.head) + 24,
      height: template.height + tall + 12,
      rx: 12
    }));
    var head = svgMake("text", {
      class: "tg-head",
      x: template.anchor + 0.5 * plan.head,
      y: -0.4 * plan.head,
      style: "font-size:" + plan.head + "px"
    });
    head.textContent = book.block(i);
    block.appendChild(head);
    block.appendChild(graphCopy(book, template.plain, twin));
    blocks.appendChild(block);
    Object.keys(template.enters).forEach(function(lead) {
      var source = twin[lead], from = home[source], to = template.enters[lead];
      if (from === undefined) { return; }
      var out = templates[all[from].block],
          box = out.boxes[all[book.drawings[all[from].block][0]].nodes[all[from].nodes.indexOf(source)]];
      var start = plan.places[from], last = box.bottom > out.height - 12;
      var line = svgMake("path", {
        class: "tg-edge tg-between",
        d: graphLine({ x: start.x + box.x, y: start.y + (last ? box.bottom : out.height + 12) },
          { x: place.x + to.x, y: place.y + to.top, next: from === i - 1 }, start, place, plan.gutters, plan.head)
      });
      line.setAttribute("data-from", source);
      line.setAttribute("data-into", i);
      lines.appendChild(line);
    });
  });
  svg.appendChild(blocks);
  svg.appendChild(lines);
  return svg;
}

/* A copy of a block's drawing without ids, links and marks. */
function graphPlain(inner) {
  var copy = inner.cloneNode(true);
  Array.prototype.forEach.call(copy.querySelectorAll(".tg-node"), function(element) {
    var link = element.querySelector("a");
    element.removeAttribute("id");
    element.removeAttribute("data-step");
    element.classList.remove("tg-chosen");
    Array.prototype.forEach.call(element.querySelectorAll("g"), function(anchor) { anchor.remove(); });
    if (link) { link.removeAttribute("href"); }
  });
  return copy;
}

/* A copy of a plain drawing, each box with the node that it represents in this instance. */
function graphCopy(book, plain, twin) {
  var copy = plain.cloneNode(true);
  Array.prototype.forEach.call(copy.querySelectorAll(".tg-node"), function(element) {
    var node = twin[element.getAttribute("data-node")], words = element.querySelectorAll("text");
    if (node === undefined || !book.has(node)) {
      element.removeAttribute("data-node");
      return;
    }
    element.setAttribute("data-node", node);
    element.querySelector("title").textContent = book.label(node) + " (node " + node + ")";
    if (element.matches(".tg-leaf, .tg-state") && words[1]) {
      words[1].textContent = book.of("dtype", node) + " " + book.of("shape", node);
    }
    if (element.matches(".tg-enter")) {
      words[0].textContent = book.of("name", node).slice(0, 22);
    } else if (!element.matches(".tg-from")) {
      book.drawn(element, [node], "whole");
    }
  });
  return copy;
}

/* The button that draws the whole graph, once. */
function wholeOffered(section, book, done) {
  var button = section.querySelector("[data-tg=draw]");
  section.hidden = false;
  button.addEventListener("click", function() {
    var frame = make("div", "tg-drawing tg-whole-frame"), svg;
    frame.tabIndex = 0;
    frame.setAttribute("role", "region");
    frame.setAttribute("aria-label", "The whole graph, drawing");
    frame.style.height = "min(80vh, 900px)";
    section.appendChild(frame);
    svg = wholeGraph(book, { width: frame.clientWidth, height: frame.clientHeight });
    button.remove();
    zoomable(frame, svg, "the whole graph", frame.style.height);
    frame.appendChild(svg); /* last, so that the browser lays out the text only once */
    done(frame);
    frame.focus({ preventScroll: true });
  });
}
