/* The token panel: the words around the chosen pass, what layers did in it, its tensors (token_tensors.js) and its
   experts. */
var WORDS_AROUND = 12;

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
/* The input and output tokens of a pass. */
function panelSentence(words, at) {
  function quoted(i) {
    var word = wordOf(words[i]);
    return "“" + word.text + "”" + (word.id === null ? "" : " (id " + word.id + ")");
  }
  var parts = [];
  if (at.taken.length === 1) { parts.push("Input token " + quoted(at.taken[0])); }
  if (at.taken.length > 1) { parts.push("Input: " + at.taken.length + " tokens of the prompt"); }
  if (at.given !== null) { parts.push((parts.length ? "output token " : "Output token ") + quoted(at.given)); }
  return parts.length ? parts.join("; ") + "." : "";
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

/* The key if one of the quantities has it. */
function keyAmong(quantities, key) {
  return quantities.some(function(quantity) { return quantity.key === key; }) ? key : "";
}

/* The panel: `show(pass, entries)` draws it for a pass (passOf) and its rows (opModel). `words` are those of the
   address for the shown quantity, the order of tensors and whether all are shown; `restore` takes them; `changed` is
   called when they change. */
function tokenPanel(root, state, changed) {
  var panel = state.panel, means = layerMeans(panel), now = null, every = false, order = "";
  var usual = tensorQuantities(panel.recorded)[0].key;
  function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
  layerOptions(part("quantity"));
  function pick(changes) { choose(Object.assign({ node: null, component: null, pass: now.pass.id }, changes)); }
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
  function tensors() {
    var all = panelTensors(now.pass, panel.tensors), n = all.length;
    tensorTable(part("tensors"), all, {
      recorded: panel.recorded,
      linked: state.memory,
      pass: now.pass.id,
      most: every ? Infinity : TENSORS_SHOWN,
      key: order || usual,
      sort: function(key) {
        order = key === usual ? "" : key;
        changed();
        part("tensors").querySelector("[aria-sort] button").focus();
      }
    });
    part("tensor-count").textContent = tensorCounts(all, every ? n : TENSORS_SHOWN, panel.recorded.read_bytes);
    part("tensor-all").hidden = every || n <= TENSORS_SHOWN;
  }
  function draw() {
    if (!now) { return; }
    var chosen = selected(addressWords()), sums = layerSums(now.entries),
        quantity = LAYER_QUANTITIES[Math.max(part("quantity").selectedIndex, 0)];
    var at = wordsOfPass(panel.words, now.pass.id);
    panelWords(part("words"), panel.words, at, function(id) { pick({ pass: id }); });
    part("word").textContent = panelSentence(panel.words, at);
    layerTable(part("layers"), sums, panel, quantity, chosen,
      function(layer, group) { pick({ layer: layer, group: group, expert: null }); });
    part("answer").textContent = answer(quantity, sums, chosen);
    tensors();
    if (!part("experts")) { return; }
    panelExpertRows(part("expert-rows"), now.pass, chosen,
      function(layer, expert) { pick({ layer: layer, expert: expert, group: null }); });
    part("expert-note").textContent = now.pass.experts ?
      "The experts that the token chose which this pass took in." :
      "Which experts one token chose is not known here: the pass took in several, or choices were not recorded.";
  }
  part("quantity").addEventListener("change", function() { changed(); });
  part("tensor-all").addEventListener("click", function() {
    every = true;
    changed();
    part("tensors").focus();
  });
  part("panel").hidden = false;
  return {
    draw: draw,
    words: function() {
      var key = part("quantity").value;
      return { layers: key === LAYER_QUANTITIES[0].key ? "" : key, tensors: order + (every ? ":all" : "") };
    },
    restore: function(to) {
      part("quantity").value = keyAmong(LAYER_QUANTITIES, to.layers) || LAYER_QUANTITIES[0].key;
      order = keyAmong(tensorQuantities(panel.recorded), (to.tensors || "").split(":")[0]);
      every = (to.tensors || "").split(":")[1] === "all";
    },
    show: function(pass, entries) {
      now = { pass: pass, entries: entries };
      draw();
    }
  };
}
