/* A book: the facts of the nodes of one topology, and the boxes that draw them. */
var graphArrived = {};
window.tracegenGraph = function(facts) { graphArrived[facts.key] = facts; };

function graphData(facts) {
  var row = {}, readers = {}, home = {}, drawings = [];
  facts.node.forEach(function(node, i) { row[node] = i; });
  facts.node.forEach(function(node, i) {
    facts.sources[i].forEach(function(source) {
      var list = readers[source] = readers[source] || [];
      if (list[list.length - 1] !== node) { list.push(node); }
    });
  });
  facts.instances.forEach(function(instance, i) {
    instance.nodes.forEach(function(node) { home[node] = i; });
    (drawings[instance.block] = drawings[instance.block] || []).push(i);
  });
  function sources(node) { return row[node] === undefined ? [] : facts.sources[row[node]]; }
  /* Node of the drawing -> the node of instance `i` at the same place, or with the same operand slot. */
  function twins(i) {
    var nodes = facts.instances[i].nodes, lead = facts.instances[drawings[facts.instances[i].block][0]].nodes,
        twin = {};
    lead.forEach(function(node, at) {
      twin[node] = nodes[at];
      sources(node).forEach(function(source, slot) {
        if (twin[source] === undefined) { twin[source] = sources(nodes[at])[slot]; }
      });
    });
    lead.forEach(function(node, at) { twin[node] = nodes[at]; });
    return twin;
  }
  var book = {
    facts: facts,
    key: facts.key,
    lead: facts.graphs[0],
    drawings: drawings,
    boxes: {},
    painted: [],
    sources: sources,
    twins: twins,
    has: function(node) { return row[node] !== undefined; },
    readers: function(node) { return readers[node] || []; },
    /* The instance that draws a node: its own, or that of the first op that reads it. */
    home: function(node) { return home[node] !== undefined ? home[node] : home[(readers[node] || [])[0]]; },
    of: function(name, node) {
      var column = facts[name], i = row[node];
      return column.codes ? column.names[column.codes[i]] : column[i];
    },
    kind: function(node) { return ["op", "noop", "leaf"][facts.kind[row[node]]]; },
    /* Adds a drawn box that represents `nodes`. */
    drawn: function(element, nodes, drawing) {
      var box = { element: element, nodes: nodes, drawing: drawing };
      book.painted.push(box);
      nodes.forEach(function(node) { (book.boxes[node] = book.boxes[node] || []).push(box); });
    },
    /* The mean of the known values of some nodes, and their number: a box represents nodes of several layers. */
    mean: function(name, nodes) {
      var known = nodes.map(function(node) { return book.of(name, node); }).filter(function(v) { return v !== null; });
      var sum = known.reduce(function(a, b) { return a + b; }, 0);
      return { value: known.length ? sum / known.length : null, n: known.length };
    },
    block: function(i) {
      var instance = facts.instances[i];
      return instance.layer === null ? instance.title : "layer " + instance.layer;
    },
    label: function(node) { return book.of("op", node) + " " + book.of("name", node); }
  };
  facts.instances.forEach(function(instance, i) {
    if (drawings[instance.block][0] === i) { drawnBlocks(book, i); }
  });
  return book;
}

/* Adds the boxes of a block's drawing: each represents one node of every instance that shares the drawing. */
function drawnBlocks(book, i) {
  var block = book.facts.instances[i].block, frame = document.getElementById("g" + book.lead + "-b" + block);
  var same = book.drawings[block].map(book.twins);
  Array.prototype.forEach.call(frame ? frame.querySelectorAll(".tg-node") : [], function(element) {
    var node = parseInt(element.getAttribute("data-node") || element.id.split("-n")[1], 10);
    element.setAttribute("data-node", node);
    if (!element.matches(".tg-from, .tg-enter")) {
      book.drawn(element,
        same.map(function(twin) { return twin[node]; }).filter(function(twin) { return twin !== undefined; }), "block");
    }
  });
}
