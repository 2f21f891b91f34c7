/* The colours of boxes: by component, time, or touched bytes. */
var GRAPH_MODES = { time: ["time", took], bytes: ["bytes", bytesOf] };

/* The step of a value on a scale whose steps end at `ends`; null for an unknown value. */
function graphStep(value, ends) {
  if (value === null) { return null; }
  for (var i = 0; i < ends.length; i += 1) {
    if (value <= ends[i]) { return i; }
  }
  return ends.length - 1;
}

function graphColours(root, books, state) {
  var chosen = "component", legend = root.querySelector("[data-tg=legend]");
  function paint(book) {
    book.painted.forEach(function(box) {
      box.element.removeAttribute("data-step");
      if (chosen === "component") { return; }
      var step = graphStep(book.mean(chosen, box.nodes).value, state.scales[chosen].ends);
      box.element.setAttribute("data-step", step === null ? "none" : step);
    });
  }
  function swatch(list, text, look) {
    var item = make("li"), mark = make("i", "tg-swatch");
    mark.setAttribute("data-step", look);
    item.appendChild(mark);
    item.appendChild(document.createTextNode(text));
    list.appendChild(item);
  }
  function components() {
    var list = make("ul"), present = {};
    books.forEach(function(book) {
      book.facts.component.names.forEach(function(name) { present[state.groups[name] || "other"] = true; });
    });
    Object.keys(state.groups).map(function(name) { return state.groups[name]; }).forEach(function(name) {
      if (!present[name]) { return; }
      var item = make("li"), dot = make("i", "tg-dot");
      present[name] = false;
      dot.setAttribute("data-group", name);
      item.appendChild(dot);
      item.appendChild(document.createTextNode(name));
      list.appendChild(item);
    });
    return list;
  }
  function describe() {
    legend.textContent = "";
    if (chosen === "component") {
      legend.appendChild(components());
      return;
    }
    var scale = state.scales[chosen], write = GRAPH_MODES[chosen][1], list = make("ul", "tg-steps");
    scale.ends.forEach(function(end,
      i) { swatch(list, (i === scale.ends.length - 1 ? "up to " : "≤ ") + write(end), i); });
    swatch(list,
      chosen === "time" ? "no time of its own (fused, view, operand), or not recorded" :
                          "a view, an operand, or not recorded",
      "none");
    var over = books.map(function(book) {
      return (books.length > 1 ? "graph " + book.lead + ": " : "") + book.facts.mean + ", mean over " +
        (book.facts.over || "no pass");
    });
    legend.appendChild(make("p", "tg-note",
      (chosen === "time" ? "Wall time " : "Bytes in every kind of memory ") + over.join("; ") +
        ". The scale is logarithmic: each step ends at " + scale.factor +
        " times the one before. If layers share a drawing, it shows their mean."));
    legend.appendChild(list);
  }
  function choose(mode) {
    chosen = mode;
    root.setAttribute("data-colour", mode);
    books.forEach(paint);
    describe();
  }
  Array.prototype.forEach.call(root.querySelectorAll("[name=tg-mode]"), function(input) {
    var scale = state.scales[input.value];
    input.checked = input.value === chosen;
    if (scale && !scale.ends.length) {
      input.disabled = true;
      input.parentNode.appendChild(make("small", "", " " + (scale.reason || "not recorded")));
    }
    input.addEventListener("change", function() { choose(input.value); });
  });
  choose(chosen);
  return paint;
}
