/* The search for nodes and tensors: every word must occur in operation, name, component or layer. */
var MATCHES = 50;

function graphEntries(books) {
  var entries = [];
  books.forEach(function(book) {
    book.facts.node.forEach(function(node) {
      var layer = book.of("layer", node), name = book.of("name", node);
      var words = [book.of("op", node), name, book.of("component", node), layer === null ? "" : "layer " + layer];
      entries
        .push({ book: book, node: node, layer: layer, name: name.toLowerCase(), text: words.join(" ").toLowerCase() });
    });
  });
  return entries;
}

/* Matching entries: equal names first, then names that begin with the first word, then others; in order of nodes. */
function graphMatches(entries, query) {
  var words = query.toLowerCase().replace(/\blayer\s+(\d+)/g, "blk.$1").split(/\s+/).filter(Boolean);
  if (!words.length) { return []; }
  var tests = words.map(function(word) {
    var layer = /^blk\.(\d+)\.?$/.exec(word);
    return layer ? function(entry) { return entry.layer === parseInt(layer[1], 10); } :
                   function(entry) { return entry.text.indexOf(word) >= 0; };
  });
  var ranked = [[], [], []];
  entries.forEach(function(entry) {
    if (!tests.every(function(test) { return test(entry); })) { return; }
    ranked[entry.name === words[0] ? 0 : entry.name.indexOf(words[0]) === 0 ? 1 : 2].push(entry);
  });
  return ranked[0].concat(ranked[1], ranked[2]);
}

function graphSearch(root, books, groups, go) {
  function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
  var entries = graphEntries(books), field = part("find"), list = part("matches"), matches = [];
  function line(entry) {
    var item = make("li"), button = make("button"), dot = make("i", "tg-dot"), book = entry.book;
    var component = book.of("component", entry.node), leaf = book.kind(entry.node) === "leaf";
    dot.setAttribute("data-group", groups[component] || "other");
    button.type = "button";
    button.appendChild(dot);
    button.appendChild(make("span", "tg-code", leaf ? book.of("name", entry.node) : book.label(entry.node)));
    var about = [leaf ? "tensor" : "node " + entry.node, entry.layer === null ? "" : "layer " + entry.layer, component];
    if (books.length > 1) { about.push("graph " + book.lead); }
    button.appendChild(make("small", "", about.filter(Boolean).join(" · ")));
    button.addEventListener("click", function() { go(book, entry.node); });
    item.appendChild(button);
    return item;
  }
  function show() {
    matches = graphMatches(entries, field.value);
    var lines = document.createDocumentFragment();
    matches.slice(0, MATCHES).forEach(function(entry) { lines.appendChild(line(entry)); });
    list.textContent = "";
    list.appendChild(lines);
    part("found").textContent = !field.value.trim() ? "" :
      !matches.length                               ? "Nothing in the graph has all these words." :
                                                      (matches.length === 1 ? "1 match" : matches.length + " matches") +
        (matches.length > MATCHES ? ", the first " + MATCHES + " are shown" : "");
  }
  field.addEventListener("input", show);
  field.addEventListener("keydown", function(event) {
    if (event.key === "Enter" && matches.length) {
      event.preventDefault();
      go(matches[0].book, matches[0].node);
    }
    if (event.key === "ArrowDown" && list.firstChild) {
      event.preventDefault();
      list.firstChild.firstChild.focus();
    }
    if (event.key === "Escape") {
      field.value = "";
      show();
    }
  });
  list.addEventListener("keydown", function(event) {
    var item = event.target.closest("li");
    if (!item || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) { return; }
    var next = event.key === "ArrowDown" ? item.nextSibling : item.previousSibling;
    event.preventDefault();
    if (next) {
      next.firstChild.focus();
    } else if (event.key === "ArrowUp") {
      field.focus();
    }
  });
  show();
}
