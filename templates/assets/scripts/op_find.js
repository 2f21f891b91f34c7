/* Find a node or a tensor anywhere in the run: the names of all graphs are searched, and the passes listed that have it. */
function opFind(root, state, shown) {
  var MOST = 50, index = null, box = root.querySelector("[data-tg=find]"), list = root.querySelector("[data-tg=found]");
  var status = root.querySelector("[data-tg=find-status]"), open = null;
  window.tracegenIndex = function(data) { index = data; };

  function matches(text) {
    var words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return index.entries.map(function(entry, i) { return i; })
      .filter(function(i) { return words.every(function(word) { return index.words[i].indexOf(word) >= 0; }); });
  }
  /* Pass -> the nodes that are the entry or read it. */
  function places(i) {
    var made = [];
    state.passes.forEach(function(pass) {
      var nodes = pass.graph === null ? undefined : index.maps[index.graphs[pass.graph]][i];
      if (nodes) { made.push([pass, nodes]); }
    });
    return made;
  }
  function link(pass, node, text) {
    var made = make("a", "", text);
    made.href = "#pass=" + pass.id + "&node=" + node;
    return made;
  }
  function describe(i) {
    var entry = index.entries[i], item = make("li"), found = places(i),
        here = found.filter(function(one) { return one[0].id === shown(); })[0];
    item.appendChild(make("code", "", entry[0]));
    item.appendChild(
      make("small", "", " " + entry[1] + (entry[2] === null ? "" : ", layer " + entry[2]) + ", " + entry[3]));
    if (here) {
      item.appendChild(document.createTextNode(" in this pass: "));
      here[1].slice(0, 6).forEach(function(node, k) {
        if (k) { item.appendChild(document.createTextNode(", ")); }
        item.appendChild(link(here[0], node, "node " + node));
      });
      if (here[1].length > 6) { item.appendChild(document.createTextNode(", …")); }
    }
    var more = make("button", "", "in " + exact(found.length) + (found.length === 1 ? " pass" : " passes"));
    more.type = "button";
    more.setAttribute("aria-expanded", String(open === i));
    more.addEventListener("click", function() {
      open = open === i ? null : i;
      show();
    });
    item.appendChild(document.createTextNode(" "));
    item.appendChild(more);
    if (open === i) {
      var passes = make("ul");
      found.slice(0, MOST).forEach(function(one) {
        var row = make("li");
        row.appendChild(link(one[0], one[1][0], one[0].id + ": " + one[0].label));
        passes.appendChild(row);
      });
      if (found.length > MOST) {
        passes.appendChild(
          make("li", "", "… and " + exact(found.length - MOST) + " more, up to pass " + found[found.length - 1][0].id));
      }
      item.appendChild(passes);
    }
    return item;
  }
  function show() {
    list.textContent = "";
    if (!box.value.trim()) {
      status.textContent = "";
      return;
    }
    var found = matches(box.value);
    status.textContent = found.length ? exact(found.length) + (found.length === 1 ? " match" : " matches") +
        (found.length > MOST ? ", the first " + MOST + " shown" : "") :
                                        "Nothing in this run has such a name.";
    found.slice(0, MOST).forEach(function(i) { list.appendChild(describe(i)); });
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
        index.words = index.entries.map(function(entry) {
          return (entry[0] + "\n" + entry[1] + "\n" + entry[3] + (entry[2] === null ? "" : "\nlayer " + entry[2]))
            .toLowerCase();
        });
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
