/* The graph page: drawings, and the facts of the chosen node. All graphs of a topology share one drawing. */
function graph(state) {
  var root = document.querySelector("[data-tg=explore]"), panel = root && root.querySelector("[data-tg=facts]");
  var books = [], chosen = null, paint = null, facts = null, implied = false;
  if (!root || !panel) { return; }

  function mark(book, node) { graphMark(root, book, node); }
  function reveal(book, node) { graphReveal(root, book, node); }
  function choose(book, node, how) {
    chosen = { book: book, node: node };
    mark(book, node);
    root.setAttribute("data-chosen", node);
    var title = facts(book, node);
    if (how !== "address") {
      implied = implied || !addressWords().pass;
      putAddress(graphWords(state, book, node), "g" + book.lead + "-n" + node);
    }
    if (how === "layer") {
      panel.querySelector("select").focus();
      return;
    }
    if (how === "click") { return; }
    reveal(book, node);
    if (how === "search") { title.focus({ preventScroll: true }); }
  }
  function go(book, node, how) { choose(book, node, how || "search"); }
  function forget() {
    panel.hidden = true;
    chosen = null;
    root.removeAttribute("data-chosen");
    mark();
  }
  function close() {
    forget();
    putAddress(implied ? { node: null, pass: null } : { node: null }); /* a pass that came with the node goes with it */
    implied = false;
    root.querySelector("[data-tg=find]").focus({ preventScroll: true });
  }
  function follow() {
    var to = graphAddress(state);
    if (!to) {
      forget();
      return;
    }
    var lead = state.lead[to.graph], node = to.node;
    var book = books.filter(function(candidate) { return candidate.lead === lead; })[0];
    if (book && book.has(node)) {
      choose(book, node, "address");
      graphSoon(function() { reveal(book, node); });
    } else if (book) {
      mark();
      graphSaid(panel, "Graph " + to.graph + " has no node " + node + ".");
    }
  }
  function listen(book, frame, drawing) {
    graphClicked(frame, function(node) {
      var same = drawing === "block" && chosen;
      choose(book, same && chosen.book === book ? graphMeant(book, node, chosen.node) : node, "click");
    });
  }
  function begin(known) {
    books = known;
    facts = graphFacts(panel, books, state, go, close);
    paint = graphColours(root, books, state);
    graphSearch(root, books, state.groups, go);
    root.querySelector("[data-tg=tools]").hidden = false;
    books.forEach(function(book) {
      graphListened(root, book, listen, function(drawn) {
        paint(drawn);
        if (chosen) { mark(chosen.book, chosen.node); }
      });
    });
    whenSelected(follow);
    window.addEventListener("popstate", follow);
    follow();
  }
  root.querySelectorAll(".tg-drawing").forEach(graphFramed);
  graphLoaded(state.topologies, begin, function() { graphSaid(panel, "The facts of the nodes could not be loaded."); });
}

function graphMark(root, book, node) {
  root.querySelectorAll(".tg-chosen").forEach(function(old) { old.classList.remove("tg-chosen"); });
  (book ? book.boxes[node] || [] : []).forEach(function(box) { box.element.classList.add("tg-chosen"); });
}
/* Calls `show` after the browser has scrolled to the anchor, and again when the page has loaded. */
function graphSoon(show) {
  setTimeout(show, 0);
  if (document.readyState !== "complete") {
    window.addEventListener("load", function() { setTimeout(show, 0); });
  }
}
/* Calls `picked` with the node of a box that is clicked, unless the click asks for a new tab. */
function graphClicked(frame, picked) {
  frame.addEventListener("click", function(event) {
    var element = event.target.closest(".tg-node[data-node]");
    if (!element || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) { return; }
    event.preventDefault();
    picked(parseInt(element.getAttribute("data-node"), 10));
  });
}
/* The graph that a pass ran, or undefined. */
function graphOf(state, pass) {
  var before = state.passes.filter(function(run) { return run[0] <= pass; });
  return before.length ? before[before.length - 1][1] : undefined;
}
/* The node that the address names: `g0-n12` is node 12 of graph 0; else the chosen node, of the chosen pass's graph. */
function graphAddress(state) {
  var place = /^g(\d+)-n(\d+)$/.exec(addressPlace()), words = addressWords();
  if (place) { return { graph: place[1], node: parseInt(place[2], 10) }; }
  if (!/^\d+$/.test(words.node)) { return null; }
  var ran = graphOf(state, parseInt(words.pass, 10));
  return ran === undefined ? null : { graph: ran, node: parseInt(words.node, 10) };
}
/* The words that choose a node: a node belongs to a pass, which stays the chosen one if that ran this graph. */
function graphWords(state, book, node) {
  var pass = parseInt(addressWords().pass, 10), fits = state.lead[graphOf(state, pass)] === book.lead;
  return { node: node, pass: fits ? pass : book.facts.pass };
}

/* Listens to clicks in the drawings of the blocks, and in that of the whole graph once it is drawn. */
function graphListened(root, book, listen, drawn) {
  book.drawings.forEach(function(list, block) {
    var frame = document.querySelector("#g" + book.lead + "-b" + block + " .tg-drawing");
    if (!frame) { return; }
    frame.querySelectorAll("a[href]").forEach(function(link) {
      link.setAttribute("href", "#g" + book.lead + "-n" + link.closest(".tg-node").getAttribute("data-node"));
    });
    listen(book, frame, "block");
  });
  wholeOffered(root.querySelector("[data-graph=" + book.key + "]"), book, function(frame) {
    listen(book, frame, "whole");
    drawn(book);
  });
}
function graphSaid(panel, text) {
  panel.textContent = "";
  panel.appendChild(make("p", "tg-reason", text));
  panel.hidden = false;
}
/* Scrolls to a node: in the whole graph if that is in view, else in its block. */
function graphReveal(root, book, node) {
  var frame = root.querySelector("[data-graph=" + book.key + "] .tg-drawing"),
      edge = frame && frame.getBoundingClientRect();
  var drawing = edge && edge.top < innerHeight / 2 && edge.bottom > innerHeight / 2 ? "whole" : "block";
  var boxes = (book.boxes[node] || []).filter(function(box) { return box.drawing === drawing; });
  if (!boxes[0]) { return; }
  var folded = boxes[0].element.closest("details");
  if (folded) { folded.open = true; }
  boxes[0].element.scrollIntoView({ block: "center", inline: "center" });
}
/* The node that a click in a shared drawing means: that of the layer chosen before. */
function graphMeant(book, node, chosen) {
  var home = book.home(chosen), target = book.home(node), all = book.facts.instances;
  var same = home !== undefined && target !== undefined && all[home].block === all[target].block;
  var twin = same ? book.twins(home)[node] : undefined;
  return twin === undefined ? node : twin;
}
function graphFramed(frame) {
  var svg = frame.querySelector("svg.tg-graph"), first = svg && svg.querySelector(".tg-node");
  if (!svg) { return; }
  zoomable(frame, svg, frame.getAttribute("aria-label"), null);
  /* A drawing wider than its frame is scrolled to its first box. */
  if (!first || frame.scrollWidth <= frame.clientWidth) { return; }
  var box = first.getBoundingClientRect(), edge = frame.getBoundingClientRect();
  frame.scrollLeft += box.left + box.width / 2 - edge.left - edge.width / 2;
}

/* Calls `done` with a book for each topology; its facts are in the page or in a separate script. */
function graphLoaded(topologies, done, failed) {
  var left = topologies.length;
  function arrived() {
    left -= 1;
    if (left > 0) { return; }
    done(topologies.map(function(topology) {
      var facts = topology.facts || graphArrived[topology.key];
      facts.pass = topology.pass;
      return graphData(facts);
    }));
  }
  topologies.forEach(function(topology) {
    if (topology.facts) {
      arrived();
    } else {
      script(topology.path, arrived, failed);
    }
  });
}

starts.push(function() {
  var state = stateOf("tg-graph");
  if (state) { graph(state); }
});
