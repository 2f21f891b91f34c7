/* The facts of the chosen node, beside the drawings. */
var FACTS_LISTED = 24;

function nodeFact(list, name, content) {
  var row = make("div"), value = make("dd");
  row.appendChild(make("dt", "", name));
  [].concat(content).forEach(
    function(part) { value.appendChild(typeof part === "string" ? document.createTextNode(part) : part); });
  row.appendChild(value);
  list.appendChild(row);
}
function nodeLink(text, address) {
  var link = make("a", "", text);
  link.href = address;
  return link;
}
function nodeOver(book, text, n) {
  return text +
    (n === book.facts.n_passes ? "" :
                                 ", in the passes where it had one: " + n + " of " + book.facts.n_passes + " passes");
}
/* The mean that colours the box of a node, if the box represents nodes of several layers. */
function nodeFolded(book, node, name) {
  var box = (book.boxes[node] || [])[0], mean = box && book.mean(name, box.nodes);
  if (!box || box.nodes.length < 2 || mean.value === null) { return []; }
  var count = mean.n === box.nodes.length ? mean.n : mean.n + " of " + box.nodes.length;
  return [make("small", "tg-folded", "mean of " + count + " layers: " + GRAPH_MODES[name][1](mean.value))];
}
function nodeShapes(book, node) {
  var graphs = book.facts.shape_graphs, shape = book.of("shape", node),
      second = graphs.length > 1 ? book.of("other_shape", node) : shape;
  return shape === second ? shape : shape + " in graph " + graphs[0] + ", " + second + " in graph " + graphs[1];
}
function nodeWhere(book, node) {
  var home = book.home(node);
  if (home === undefined) { return "No drawing shows it, as no operation here reads it."; }
  var same = book.drawings[book.facts.instances[home].block], first = book.block(same[0]), name = book.block(home);
  if (same.length < 2) { return "Drawn in " + name + "."; }
  return "Drawn as " + first +
    (home === same[0] ? ", which stands for " + same.length + " layers." : ": " + name + " has the same shape.");
}
function nodeTime(book, node, reason, way) {
  var value = book.of("time", node), into = book.of("fused_into", node), how = book.of("state", node);
  if (reason) { return reason; }
  if (book.kind(node) === "noop") { return "none: it only views"; }
  if (value !== null) { return nodeOver(book, took(value), book.of("n_timed", node)); }
  if (how === "fused") {
    return into === null ? "no time of its own: fused" : ["no time of its own: fused into ", way(into)];
  }
  if (!book.facts.n_passes) { return "no measured pass ran it"; }
  return how && how !== "executed" ? "none: " + how : "not recorded";
}
function nodeBytes(book, node, reason) {
  var value = book.of("bytes", node);
  if (reason) { return reason; }
  if (book.kind(node) === "noop") { return "none: it only views"; }
  return value === null ? "not recorded" : bytesOf(value) + " (" + exact(value) + " B)";
}
function nodeLinks(book, node, leaf) {
  var links = [], pass = book.facts.pass;
  if (book.kind(node) === "op" && pass !== null) {
    links.push(nodeLink("Its row in the operations of pass " + pass,
      "../operations/index.html#pass=" + pass + "&node=" + node));
  }
  (leaf ? [node] : book.sources(node)).forEach(function(source) {
    var tensor = book.has(source) ? book.of("tensor", source) : null,
        name = tensor === null ? "" : book.of("name", source);
    if (tensor !== null) {
      links.push(nodeLink("Where " + name + " lies in memory", "../file/index.html#tensor=" + tensor));
    }
  });
  return links;
}
function nodeHead(name, close) {
  var head = make("div", "tg-facts-head"), title = head.appendChild(make("h3", "", name));
  var shut = head.appendChild(make("button", "tg-button", "close"));
  title.tabIndex = -1;
  shut.type = "button";
  shut.setAttribute("aria-label", "close the facts");
  shut.addEventListener("click", close);
  return head;
}

function graphFacts(panel, books, state, go, close) {
  function way(book, node) {
    var button = make("button", "tg-way", book.has(node) ? book.label(node).replace(/^NONE /, "") : "node " + node);
    button.type = "button";
    button.disabled = !book.has(node);
    button.addEventListener("click", function() { go(book, node); });
    return button;
  }
  function ways(book, nodes) {
    var links = nodes.slice(0, FACTS_LISTED).map(function(node) { return way(book, node); });
    if (nodes.length > FACTS_LISTED) { links.push("and " + (nodes.length - FACTS_LISTED) + " more"); }
    return links.length ? links : "none";
  }
  function layers(book, node) {
    var home = book.home(node), layer = book.of("layer", node);
    var same = home === undefined ? [] : book.drawings[book.facts.instances[home].block];
    var box = (book.boxes[node] || [])[0];
    if (same.length < 2 || !box || box.nodes.length !== same.length) { return layer === null ? "none" : String(layer); }
    var select = make("select");
    select.setAttribute("aria-label", "Layer: go to the same node of another layer");
    same.forEach(function(i, at) {
      var option = make("option", "", book.block(i));
      option.value = box.nodes[at];
      select.appendChild(option);
    });
    select.value = String(node);
    select.addEventListener("change", function() { go(book, parseInt(select.value, 10), "layer"); });
    return select;
  }
  function show(book, node) {
    var leaf = book.kind(node) === "leaf", list = make("dl", "tg-facts"), head = nodeHead(book.of("name", node), close);
    nodeFact(list, leaf ? "Tensor" : "Operation", leaf ? "leaf " + node : book.of("op", node) + ", node " + node);
    nodeFact(list, "Layer", layers(book, node));
    nodeFact(list, "Component", book.of("component", node));
    nodeFact(list, "Type", book.of("dtype", node));
    nodeFact(list, "Shape", nodeShapes(book, node));
    if (!leaf) {
      nodeFact(list, "Time " + book.facts.mean,
        [].concat(nodeTime(book, node, state.scales.time.reason, function(into) { return way(book, into); }),
          nodeFolded(book, node, "time")));
      nodeFact(list, "Bytes " + book.facts.mean,
        [].concat(nodeBytes(book, node, state.scales.bytes.reason), nodeFolded(book, node, "bytes")));
      nodeFact(list, "Reads", ways(book, book.sources(node)));
    }
    nodeFact(list, "Read by", ways(book, book.readers(node)));
    panel.textContent = "";
    panel.appendChild(head);
    var note = make("p", "tg-note",
      nodeWhere(book, node) + (leaf || !book.facts.over ? "" : " Means over " + book.facts.over + "."));
    note.setAttribute("role", "status");
    panel.appendChild(note);
    panel.appendChild(list);
    var items = make("ul", "tg-onward");
    nodeLinks(book, node, leaf).forEach(function(link) { items.appendChild(make("li")).appendChild(link); });
    if (items.firstChild) { panel.appendChild(items); }
    panel.hidden = false;
    panel.scrollTop = 0;
    return head.firstChild;
  }
  return show;
}
