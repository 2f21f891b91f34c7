/* The graph page: drawings, and the facts of the chosen node. All graphs of a topology share one drawing. */
function graph(state) {
  var root = document.querySelector("[data-tg=explore]"), panel = root && root.querySelector("[data-tg=facts]");
  var books = [], chosen = null, paint = null, facts = null;
  if (!root || !panel) { return; }

  function mark(book, node) {
    root.querySelectorAll(".tg-chosen").forEach(function(old) { old.classList.remove("tg-chosen"); });
    (book ? book.boxes[node] || [] : []).forEach(function(box) { box.element.classList.add("tg-chosen"); });
  }
  function reveal(book, node) { graphReveal(root, book, node); }
  function choose(book, node, how) {
    chosen = { book: book, node: node };
    mark(book, node);
    root.setAttribute("data-chosen", node);
    var title = facts(book, node);
    if (how !== "address") { putAddress({}, "g" + book.lead + "-n" + node); }
    if (how === "layer") {
      panel.querySelector("select").focus();
      return;
    }
    if (how === "click") { return; }
    reveal(book, node);
    if (how === "search") { title.focus({ preventScroll: true }); }
  }
  function go(book, node, how) { choose(book, node, how || "search"); }
  function close() {
    panel.hidden = true;
    chosen = null;
    root.removeAttribute("data-chosen");
    mark();
    putAddress({});
    root.querySelector("[data-tg=find]").focus({ preventScroll: true });
  }
  function follow() {
    var match = /^#g(\d+)-n(\d+)(?:&|$)/.exec(location.hash);
    if (!match) { return; }
    var lead = state.lead[match[1]], node = parseInt(match[2], 10);
    var book = books.filter(function(candidate) { return candidate.lead === lead; })[0];
    if (book && book.has(node)) {
      choose(book, node, "address");
      setTimeout(function() { reveal(book, node); }, 0); /* after the browser has scrolled to the anchor */
      if (document.readyState !== "complete") {
        window.addEventListener("load", function() { setTimeout(function() { reveal(book, node); }, 0); });
      }
    } else if (book) {
      mark();
      graphSaid(panel, "Graph " + match[1] + " has no node " + match[2] + ".");
    }
  }
  function listen(book, frame, drawing) {
    frame.addEventListener("click", function(event) {
      var element = event.target.closest(".tg-node[data-node]");
      if (!element || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) { return; }
      event.preventDefault();
      var node = parseInt(element.getAttribute("data-node"), 10), same = drawing === "block" && chosen;
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
    window.addEventListener("hashchange", follow);
    window.addEventListener("popstate", follow);
    follow();
  }
  root.querySelectorAll(".tg-drawing").forEach(graphFramed);
  graphLoaded(state.topologies, begin, function() { graphSaid(panel, "The facts of the nodes could not be loaded."); });
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
  if (boxes[0]) { boxes[0].element.scrollIntoView({ block: "center", inline: "center" }); }
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
      return graphBook(facts);
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
