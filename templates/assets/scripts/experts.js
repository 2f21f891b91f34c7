/* Tokens by experts of any layer, on a canvas; a token is told with its experts. */
var expertsOf = {};
window.tracegenExperts = function(data) { expertsOf[data.layer] = data; };

function expertGrid(canvas, view) {
  var LEFT = 96, TOP = 8, AXIS = 34, MOST = 600, STEPS = 8;
  function several() { return Math.max(1, Math.ceil(view.data.experts.length / MOST)); }
  function lines() { return Math.ceil(view.data.experts.length / several()); }
  function high() { return Math.max(1, Math.min(16, Math.floor(MOST / lines()))); }
  function wide() { return Math.max(canvas.parentNode.clientWidth - LEFT - 2, 10) / view.n; }

  function counts(line) {
    var found = {};
    view.data.experts.slice(line * several(), (line + 1) * several())
      .forEach(function(one) { one.forEach(function(expert) { found[expert] = (found[expert] || 0) + 1; }); });
    return found;
  }
  function axis(on, bottom) {
    var every = Math.max(1, Math.ceil(28 / wide())), expert;
    on.pen.textAlign = "center";
    on.pen.fillStyle = colourOf(canvas, "--tg-muted");
    for (expert = 0; expert < view.n; expert += every) {
      on.pen.fillText(String(expert), LEFT + (expert + 0.5) * wide(), bottom + 10);
    }
    on.pen.fillText("expert", LEFT + view.n * wide() / 2, bottom + 26);
  }
  function draw() {
    if (!view.data) { return; }
    var n = lines(), on = sharp(canvas, TOP + n * high() + AXIS), line, thin = high() > 4 ? 1 : 0,
        every = Math.ceil(16 / high());
    canvas.setAttribute("data-layer", String(view.data.layer));
    var ground = colourOf(canvas, "--tg-band"), muted = colourOf(canvas, "--tg-muted"),
        bar = colourOf(canvas, "--tg-bar"), steps = [], step;
    for (step = 0; step < STEPS; step += 1) { steps.push(colourOf(canvas, "--tg-s" + step)); }
    on.pen.translate(0, TOP);
    for (line = 0; line < n; line += 1) {
      on.pen.fillStyle = ground;
      on.pen.fillRect(LEFT, line * high(), view.n * wide(), high() - thin);
      var found = counts(line), of = Math.min(several(), view.data.experts.length - line * several());
      Object.keys(found).forEach(function(expert) {
        on.pen.fillStyle =
          several() === 1 ? bar : steps[Math.min(STEPS - 1, Math.max(0, Math.ceil(found[expert] / of * STEPS) - 1))];
        on.pen.fillRect(LEFT + expert * wide(), line * high(), Math.max(wide() - thin, 1), high() - thin);
      });
      if (line % every === 0) {
        on.pen.fillStyle = muted;
        on.pen.textAlign = "left";
        on.pen.fillText(view.label(line * several()), 0, line * high() + Math.min(high(), 16) / 2, LEFT - 8);
      }
    }
    if (view.at) {
      on.pen.strokeStyle = colourOf(canvas, "--tg-ink");
      on.pen.lineWidth = 2;
      on.pen.strokeRect(LEFT + view.at.expert * wide(), Math.floor(view.at.token / several()) * high(),
        Math.max(wide(), 3), Math.max(high(), 3));
    }
    axis(on, n * high());
  }
  return {
    draw: draw,
    at: function(x, y) {
      var token = Math.floor((y - TOP) / high()) * several(), expert = Math.floor((x - LEFT) / wide());
      return view.data && token >= 0 && token < view.data.experts.length && expert >= 0 && expert < view.n ?
        { token: token, expert: expert } :
        null;
    },
    several: several
  };
}

function experts(state, root) {
  function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
  var canvas = part("grid"), shown = null, wanted = null;
  var view = { data: null, n: 1, at: null, label: label };
  var grid = expertGrid(canvas, view), soon = redrawn(function() { grid.draw(); });

  // A row is named by the generated token that it holds, which chose its experts; else by its pass.
  function label(row) {
    return view.data.token[row] === null ? "pass " + view.data.pass[row] : "token " + view.data.token[row];
  }
  function named(row) {
    return label(row) + (view.data.token[row] === null ? "" : " (pass " + view.data.pass[row] + ")");
  }
  function tell() {
    var box = part("about"), at = view.at;
    if (!at) {
      box.textContent = view.data.experts.length + (view.data.experts.length === 1 ? " token row" : " token rows") +
        ", " + view.n + " experts" + (grid.several() > 1 ? ", " + grid.several() + " token rows in a line" : "") + ".";
      return;
    }
    var chosen = view.data.experts.filter(function(one) { return one.indexOf(at.expert) >= 0; }).length;
    var order = view.data.experts[at.token].length === 1 ? "" :
      view.data.by_weight                                ? ", the strongest first" :
                                                           ", in llama.cpp’s order";
    box.textContent = named(at.token) + (grid.several() > 1 ? ", the first in its line," : "") + " chose " +
      view.data.experts[at.token].join(", ") + order + ". Expert " + at.expert + " is chosen by " + chosen + " of " +
      view.data.experts.length + (view.data.experts.length === 1 ? " token row" : " token rows") + " in this layer.";
  }
  function look(at) {
    view.at = at;
    tell();
    soon();
  }
  function show(layer, said) {
    wanted = layer;
    function done() {
      if (wanted !== layer) { return; }
      part("status").textContent = said || "";
      shown = layer;
      view.data = expertsOf[layer];
      view.n = state.experts[layer];
      part("label").textContent = String(layer);
      part("choose").value = String(layer);
      part("previous").disabled = state.layers.indexOf(layer) === 0;
      part("next").disabled = state.layers.indexOf(layer) === state.layers.length - 1;
      look(null);
    }
    if (expertsOf[layer]) {
      done();
      return;
    }
    part("status").textContent = "Loading …";
    script(state.data + layer + ".js", done,
      function() { part("status").textContent = "The choices of layer " + layer + " could not be loaded."; });
  }
  function go(layer) {
    history.replaceState(null, "", "#layer=" + layer);
    show(layer);
  }
  function step(by) {
    var next = state.layers[state.layers.indexOf(shown) + by];
    if (next !== undefined) { go(next); }
  }
  function follow() {
    var to = address().layer;
    var known = state.layers.indexOf(to) >= 0;
    show(known ? to : state.layer, to === undefined || known ? "" : "No token chose experts in layer " + to + ".");
    if (to !== undefined) { root.scrollIntoView({ block: "start" }); }
  }

  root.hidden = false;
  part("choose").addEventListener("change", function(event) { go(parseInt(event.target.value, 10)); });
  part("previous").addEventListener("click", function() { step(-1); });
  part("next").addEventListener("click", function() { step(1); });
  canvas.addEventListener("pointermove", function(event) {
    var box = canvas.getBoundingClientRect();
    if (view.data) { look(grid.at(event.clientX - box.left, event.clientY - box.top)); }
  });
  canvas.addEventListener("pointerleave", function() {
    if (view.data) { look(null); }
  });
  var by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  canvas.addEventListener("keydown", function(event) {
    if (!by[event.key] || !view.data || event.ctrlKey || event.metaKey || event.altKey) { return; }
    event.preventDefault();
    var at = view.at || { token: 0, expert: view.data.experts[0][0] };
    look(view.at ? {
      token: Math.min(Math.max(at.token + by[event.key][0] * grid.several(), 0), view.data.experts.length - 1),
      expert: Math.min(Math.max(at.expert + by[event.key][1], 0), view.n - 1)
    } :
                   at);
  });
  paged(step);
  window.addEventListener("hashchange", follow);
  follow();
}

starts.push(function() {
  var state = stateOf("tg-experts"), root = document.querySelector("[data-tg=experts]");
  if (state && root) { experts(state, root); }
});
