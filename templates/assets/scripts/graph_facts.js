/* The facts of the chosen node, beside the drawings. */
var FACTS_LISTED = 24;

function graphFacts(panel, books, state, go, close) {
  function fact(list, name, content) {
    var row = make("div"), value = make("dd");
    row.appendChild(make("dt", "", name));
    (Array.isArray(content) ? content : [
      content
    ]).forEach(function(one) { value.appendChild(typeof one === "string" ? document.createTextNode(one) : one); });
    row.appendChild(value);
    list.appendChild(row);
  }
  function way(book, node) {
    var button = make("button", "tg-way", book.has(node) ? book.label(node).replace(/^NONE /, "") : "node " + node);
    button.type = "button";
    button.disabled = !book.has(node);
    button.addEventListener("click", function() { go(book, node); });
    return button;
  }
  function ways(book, nodes) {
    var made = nodes.slice(0, FACTS_LISTED).map(function(node) { return way(book, node); });
    return nodes.length > FACTS_LISTED ? made.concat("and " + (nodes.length - FACTS_LISTED) + " more") :
      made.length                      ? made :
                                         "none";
  }
  function link(text, address) {
    var made = make("a", "", text);
    made.href = address;
    return made;
  }
  function time(book, node) {
    var value = book.of("time", node), into = book.of("fused_into", node), state_ = book.of("state", node);
    if (state.scales.time.reason) { return state.scales.time.reason; }
    if (book.kind(node) === "noop") { return "none: it only views"; }
    if (value !== null) { return over(book, took(value), book.of("n_timed", node)); }
    if (state_ === "fused") {
      return into === null ? "no time of its own: fused" : ["no time of its own: fused into ", way(book, into)];
    }
    return !book.facts.n_passes       ? "no measured pass ran it" :
      state_ && state_ !== "executed" ? "none: " + state_ :
                                        "not recorded";
  }
  function bytes(book, node) {
    var value = book.of("bytes", node);
    if (state.scales.bytes.reason) { return state.scales.bytes.reason; }
    if (book.kind(node) === "noop") { return "none: it only views"; }
    return value === null ? "not recorded" : bytesOf(value) + " (" + exact(value) + " B)";
  }
  function over(book, text, n) {
    return text +
      (n === book.facts.n_passes ? "" : ", where it had one: " + n + " of " + book.facts.n_passes + " passes");
  }
  /* Its box may stand for a node in each of several layers: the mean that colours it. */
  function folded(book, node, name) {
    var box = (book.boxes[node] || [])[0], mean = box && book.mean(name, box.nodes);
    if (!box || box.nodes.length < 2 || mean.value === null) { return []; }
    var count = mean.n === box.nodes.length ? mean.n : mean.n + " of " + box.nodes.length;
    return [make("small", "tg-folded", "mean of " + count + " layers: " + GRAPH_MODES[name][1](mean.value))];
  }
  function shapes(book, node) {
    var graphs = book.facts.shape_graphs, own = book.of("shape", node),
        other = graphs.length > 1 ? book.of("other_shape", node) : own;
    return own === other ? own : own + " in graph " + graphs[0] + ", " + other + " in graph " + graphs[1];
  }
  function layers(book, node) {
    var home = book.home(node), layer = book.of("layer", node);
    var same = home === undefined ? [] : book.drawings[book.facts.instances[home].block];
    var box = (book.boxes[node] || [])[0];
    if (same.length < 2 || !box || box.nodes.length !== same.length) { return layer === null ? "none" : String(layer); }
    var select = make("select");
    select.setAttribute("aria-label", "Layer: its node in another one that is drawn the same");
    same.forEach(function(i, at) {
      var option = make("option", "", book.block(i));
      option.value = box.nodes[at];
      select.appendChild(option);
    });
    select.value = String(node);
    select.addEventListener("change", function() { go(book, parseInt(select.value, 10), "layer"); });
    return select;
  }
  function where(book, node) {
    var home = book.home(node);
    if (home === undefined) { return "It stands in no drawing: no operation here reads it."; }
    var same = book.drawings[book.facts.instances[home].block], first = book.block(same[0]), own = book.block(home);
    return same.length < 2 ? "Drawn in " + own + "." :
      home === same[0]     ? "Drawn as " + first + ", which stands for " + same.length + " layers." :
                             "Drawn as " + first + ": " + own + " has the same shape.";
  }
  function links(book, node, leaf) {
    var made = [], tensor = leaf ? book.of("tensor", node) : null;
    if (!leaf && book.kind(node) === "op" && book.facts.pass !== null) {
      made.push(link("Its row in the operations of pass " + book.facts.pass,
        "../operations/index.html#pass=" + book.facts.pass + "&node=" + node));
    }
    (leaf ? [] : book.sources(node)).concat(leaf ? [node] : []).forEach(function(source) {
      tensor = book.has(source) ? book.of("tensor", source) : null;
      if (tensor !== null) {
        made.push(
          link("Where " + book.of("name", source) + " lies in memory", "../memory/index.html#tensor=" + tensor));
      }
    });
    return made;
  }
  function show(book, node) {
    var leaf = book.kind(node) === "leaf", list = make("dl", "tg-facts"), head = make("div", "tg-facts-head");
    var title = make("h3", "", book.of("name", node)), shut = make("button", "tg-button", "close");
    title.tabIndex = -1;
    shut.type = "button";
    shut.setAttribute("aria-label", "close the facts");
    shut.addEventListener("click", close);
    head.appendChild(title);
    head.appendChild(shut);
    fact(list, leaf ? "Tensor" : "Operation", leaf ? "leaf " + node : book.of("op", node) + ", node " + node);
    fact(list, "Layer", layers(book, node));
    fact(list, "Component", book.of("component", node));
    fact(list, "Type", book.of("dtype", node));
    fact(list, "Shape", shapes(book, node));
    if (!leaf) {
      fact(list, "Time " + book.facts.mean, [].concat(time(book, node), folded(book, node, "time")));
      fact(list, "Bytes " + book.facts.mean, [].concat(bytes(book, node), folded(book, node, "bytes")));
      fact(list, "Reads", ways(book, book.sources(node)));
    }
    fact(list, "Read by", ways(book, book.readers(node)));
    panel.textContent = "";
    panel.appendChild(head);
    var note = make(
      "p", "tg-note", where(book, node) + (leaf || !book.facts.over ? "" : " Means over " + book.facts.over + "."));
    note.setAttribute("role", "status");
    panel.appendChild(note);
    panel.appendChild(list);
    var made = make("ul", "tg-onward");
    links(book, node, leaf).forEach(function(one) { made.appendChild(make("li")).appendChild(one); });
    if (made.firstChild) { panel.appendChild(made); }
    panel.hidden = false;
    panel.scrollTop = 0;
    return title;
  }
  return show;
}
