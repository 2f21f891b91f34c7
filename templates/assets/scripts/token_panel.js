/* The token panel: the words around the chosen pass, what layers did in it, its tensors and its experts. */
var WORDS_AROUND = 12, TENSORS_SHOWN = 5;

/* A word of the panel's data: [visible text, id, generated number, taken in by pass, given by pass, position]. */
function wordOf(row) {
  return { text: row[0], id: row[1], generated: row[2], taken: row[3], given: row[4], position: row[5] };
}
function wordName(word) {
  return word.generated === null ? "position " + word.position + " of the prompt" : "token " + word.generated;
}
/* The words that a pass took in and gave, as indices. */
function wordsOfPass(words, id) {
  var taken = [], given = null;
  words.forEach(function(row, i) {
    if (row[3] === id) { taken.push(i); }
    if (row[4] === id) { given = i; }
  });
  return { taken: taken, given: given };
}

/* The words around those of the pass, each a link that chooses its pass. */
function panelWords(box, words, at, pick) {
  var middle = at.given !== null ? at.given : at.taken.length ? at.taken[at.taken.length - 1] : null;
  box.textContent = "";
  box.hidden = middle === null;
  if (middle === null) { return; }
  var from = Math.max(0, middle - WORDS_AROUND), to = Math.min(words.length, middle + WORDS_AROUND + 1);
  if (from > 0) { box.appendChild(document.createTextNode("… ")); }
  words.slice(from, to).forEach(function(row, k) {
    var word = wordOf(row), i = from + k, pass = word.given !== null ? word.given : word.taken;
    var link = make(pass === null ? "span" : "a", "tg-word", word.text);
    link.title = wordName(word) + (word.id === null ? "" : ", id " + word.id);
    if (word.generated === null) { link.classList.add("tg-of-prompt"); }
    if (at.taken.indexOf(i) >= 0) { link.classList.add("tg-taken"); }
    if (at.given === i) { link.setAttribute("aria-current", "true"); }
    if (pass !== null) {
      link.href = "#pass=" + pass;
      link.addEventListener("click", function(event) {
        event.preventDefault();
        pick(pass);
      });
    }
    box.appendChild(link);
  });
  if (to < words.length) { box.appendChild(document.createTextNode(" …")); }
}
/* The words that a pass took in and gave, in a sentence. */
function panelSentence(words, at) {
  function quoted(i) {
    var word = wordOf(words[i]);
    return "“" + word.text + "”" + (word.id === null ? "" : " (id " + word.id + ")");
  }
  var parts = [];
  if (at.taken.length === 1) { parts.push("Takes in " + quoted(at.taken[0])); }
  if (at.taken.length > 1) { parts.push("Takes in " + at.taken.length + " tokens of the prompt"); }
  if (at.given !== null) { parts.push((parts.length ? "gives " : "Gives ") + quoted(at.given)); }
  return parts.length ? parts.join("; ") + "." : "";
}

/* The tensors of model files that a pass touched, waited for or read: [name, { waited, read, bytes touched, memory,
   file, offset }]; most waited for first, then most read, then most touched. `known` has tensors by number. */
function panelTensors(pass, known) {
  var sums = {};
  function of (name, memory, file, offset) {
    sums[name] = sums[name] || { bytes: 0, waited: 0, read: 0, memory: memory, file: file, offset: offset };
    return sums[name];
  }
  pass.node.forEach(function(node) {
    operandsOf(pass, node).forEach(function(o) {
      var used = pass.units[node + "." + o[0]], bytes = used && used.bytes !== null ? used.bytes : o[7];
      if ((o[2] === "disk" || o[2] === "copied") && bytes) { of(o[1], o[2], o[3], o[5]).bytes += bytes; }
    });
  });
  (pass.from_disk || []).forEach(function(row) {
    var tensor = known[row[0]], sum = of(tensor[0], "disk", tensor[1], tensor[2]);
    sum.waited += row[2];
    sum.read += row[3];
  });
  return Object.keys(sums).map(function(name) { return [name, sums[name]]; }).sort(function(a, b) {
    return b[1].waited - a[1].waited || b[1].read - a[1].read || b[1].bytes - a[1].bytes || (a[0] < b[0] ? -1 : 1);
  });
}
function panelTensorRows(body, pass, panel, linked, most) {
  var all = panelTensors(pass, panel.tensors);
  body.textContent = "";
  all.slice(0, most).forEach(function(pair) {
    var row = body.appendChild(make("tr")), name = row.appendChild(make("th", "tg-code")), at = pair[1];
    function number(value, unit) { row.appendChild(make("td", "tg-n", fixed(value, unit, 1))); }
    name.scope = "row";
    if (linked && at.file !== null && at.offset !== null) {
      name.appendChild(make("a", "", pair[0])).href = "../file/index.html#file=" + at.file + "&offset=" + at.offset;
    } else {
      name.textContent = pair[0];
    }
    if (panel.recorded.waited_ns) { number(at.waited, 1000); }
    if (panel.recorded.read_bytes) { number(at.read, 1024); }
    number(at.bytes, 1024);
    row.appendChild(make("td", "", at.memory === "disk" ? "mapped" : at.memory));
  });
  return all.length;
}
/* The experts by layer, each a button that chooses it; with its weight where that was recorded. */
function panelExpertRows(body, pass, chosen, pick) {
  body.textContent = "";
  (pass.experts || []).forEach(function(layer) {
    var row = body.appendChild(make("tr")), list = make("td");
    row.appendChild(make("th", "tg-n", String(layer[0]))).scope = "row";
    layer[1].forEach(function(pair) {
      var button = list.appendChild(make("button", "tg-expert", String(pair[0])));
      button.type = "button";
      button.setAttribute("aria-pressed",
        String(chosen.expert === String(pair[0]) && chosen.layer === String(layer[0])));
      if (pair[1] !== null) { button.appendChild(make("small", "", pair[1].toFixed(3))); }
      button.addEventListener("click", function() { pick(layer[0], pair[0]); });
    });
    row.appendChild(list);
  });
}

/* The panel: `show(pass, entries)` draws it for a pass (passOf) and its rows (opModel). */
function tokenPanel(root, state) {
  var panel = state.panel, means = layerMeans(panel), now = null, most = TENSORS_SHOWN;
  function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
  LAYER_QUANTITIES.forEach(function(quantity,
    i) { part("quantity").appendChild(make("option", "", quantity.name)).value = String(i); });
  function pick(changes) { choose(Object.assign({ node: null, component: null }, changes)); }
  function answer(quantity, sums, chosen) {
    var axes = layerAxes(sums, means, panel.order);
    var layers = chosen.layer ? [chosen.layer] : axes.layers, groups = chosen.group ? [chosen.group] : axes.groups,
        keys = [];
    layers.forEach(function(layer) { groups.forEach(function(group) { keys.push(layer + "|" + group); }); });
    function said(of) {
      var total = layerTotal(of, keys, quantity.key);
      return total === null ? "not recorded" : quantity.bytes ? bytesOf(total) : took(total);
    }
    var what = [chosen.layer ? selectionNames.layer(chosen.layer) : "all layers", chosen.group || "all components"];
    return what.join(", ") + ": " + quantity.name + " " + said(sums) + " in " + selectionNames.pass(now.pass.id) +
      "; " + said(means) + " in the mean of " + exact(panel.n_means) + " " + panel.phase +
      (panel.n_means === 1 ? " pass." : " passes.");
  }
  function draw() {
    if (!now) { return; }
    var chosen = selected(addressWords()), sums = layerSums(now.entries),
        quantity = LAYER_QUANTITIES[parseInt(part("quantity").value, 10) || 0];
    var at = wordsOfPass(panel.words, now.pass.id);
    panelWords(part("words"), panel.words, at, function(id) { pick({ pass: id }); });
    part("word").textContent = panelSentence(panel.words, at);
    layerTable(part("layers"), sums, panel, quantity, chosen,
      function(layer, group) { pick({ layer: layer, group: group, expert: null }); });
    part("answer").textContent = answer(quantity, sums, chosen);
    var n = panelTensorRows(part("tensors"), now.pass, panel, state.memory, most);
    part("tensor-count").textContent = n > most ? "The first " + most + " of " + exact(n) + "." : "";
    part("tensor-all").hidden = n <= most;
    if (!part("experts")) { return; }
    panelExpertRows(part("expert-rows"), now.pass, chosen,
      function(layer, expert) { pick({ layer: layer, expert: expert, group: null }); });
    part("expert-note").textContent = now.pass.experts ?
      "The experts that the token chose which this pass took in." :
      "Which experts one token chose is not known here: the pass took in several, or choices were not recorded.";
  }
  part("quantity").addEventListener("change", draw);
  part("tensor-all").addEventListener("click", function() {
    most = Infinity;
    draw();
    part("tensors").closest(".tg-scroll").focus();
  });
  part("panel").hidden = false;
  return {
    draw: draw,
    show: function(pass, entries) {
      now = { pass: pass, entries: entries };
      most = TENSORS_SHOWN;
      draw();
    }
  };
}
