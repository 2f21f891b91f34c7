/* The search for a node or tensor in the whole run: it searches the names of all graphs and lists the passes that have
   a match. */
var FOUND_MOST = 50;

/* An entry of the index is [name, operation, layer or null, component]. */
function opWordsOf(entry) {
  var words = [entry[0], entry[1], entry[3]];
  if (entry[2] !== null) { words.push("layer " + entry[2]); }
  return words.join("\n").toLowerCase();
}
/* The numbers of the entries that have all words. */
function opMatches(index, text) {
  var words = text.toLowerCase().split(/\s+/).filter(Boolean), numbers = [];
  index.words.forEach(function(candidate, i) {
    if (words.every(function(word) { return candidate.indexOf(word) >= 0; })) { numbers.push(i); }
  });
  return numbers;
}
/* The passes that have an entry, each with the nodes that are or read the entry. */
function opPlaces(index, passes, i) {
  var places = [];
  passes.forEach(function(pass) {
    var nodes = pass.graph === null ? undefined : index.maps[index.graphs[pass.graph]][i];
    if (nodes) { places.push([pass, nodes]); }
  });
  return places;
}

function opLink(pass, node, text) {
  var link = make("a", "", text);
  link.href = "#pass=" + pass.id + "&node=" + node;
  return link;
}
function opFoundHere(item, place) {
  item.appendChild(document.createTextNode(" in this pass: "));
  place[1].slice(0, 6).forEach(function(node, k) {
    if (k) { item.appendChild(document.createTextNode(", ")); }
    item.appendChild(opLink(place[0], node, "node " + node));
  });
  if (place[1].length > 6) { item.appendChild(document.createTextNode(", …")); }
}
function opFoundPasses(places) {
  var list = make("ul"), more = places.length - FOUND_MOST;
  places.slice(0, FOUND_MOST).forEach(function(place) {
    list.appendChild(make("li")).appendChild(opLink(place[0], place[1][0], place[0].id + ": " + place[0].label));
  });
  if (more > 0) {
    list.appendChild(make("li", "", "… and " + exact(more) + " more, up to pass " + places[places.length - 1][0].id));
  }
  return list;
}
function opFound(entry, places, shown, open, toggle) {
  var item = make("li"), here = places.filter(function(place) { return place[0].id === shown; })[0];
  item.appendChild(make("code", "", entry[0]));
  item.appendChild(make("small", "",
    " " + entry[1] + (entry[2] === null ? "" : ", layer " + entry[2]) + ", " + entry[3]));
  if (here) { opFoundHere(item, here); }
  var more = make("button", "", "in " + exact(places.length) + (places.length === 1 ? " pass" : " passes"));
  more.type = "button";
  more.setAttribute("aria-expanded", String(open));
  more.addEventListener("click", toggle);
  item.appendChild(document.createTextNode(" "));
  item.appendChild(more);
  if (open) { item.appendChild(opFoundPasses(places)); }
  return item;
}

function opFind(root, state, shown) {
  var index = null, box = root.querySelector("[data-tg=find]"), list = root.querySelector("[data-tg=found]");
  var status = root.querySelector("[data-tg=find-status]"), open = null;
  window.tracegenIndex = function(data) { index = data; };

  function describe(i) {
    return opFound(index.entries[i], opPlaces(index, state.passes, i), shown(), open === i, function() {
      open = open === i ? null : i;
      show();
    });
  }
  function show() {
    list.textContent = "";
    if (!box.value.trim()) {
      status.textContent = "";
      return;
    }
    var matches = opMatches(index, box.value);
    var many = exact(matches.length) + (matches.length === 1 ? " match" : " matches");
    if (matches.length > FOUND_MOST) { many += ", the first " + FOUND_MOST + " shown"; }
    status.textContent = matches.length ? many : "Nothing in this run has this name.";
    matches.slice(0, FOUND_MOST).forEach(function(i) { list.appendChild(describe(i)); });
  }
  function search() {
    open = null;
    if (index) {
      show();
      return;
    }
    status.textContent = "Loading …";
    script(state.data + "index.js",
      function() {
        index.words = index.entries.map(opWordsOf);
        show();
      },
      function() { status.textContent = "The names of this run could not be loaded."; });
  }
  box.addEventListener("input", search);
  return {
    passChanged: function() {
      if (index && box.value) { show(); }
    }
  };
}
