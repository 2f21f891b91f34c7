/* Tokens by experts of any layer, on a canvas; the text below names a token and its experts. */
var expertsOf = {};
window.tracegenExperts = function(data) { expertsOf[data.layer] = data; };

function expertGrid(canvas, view) {
  var LEFT = 96, TOP = 8, AXIS = 34, MOST = 600, STEPS = 8;
  function several() { return Math.max(1, Math.ceil(view.rows / MOST)); }
  function lines() { return Math.ceil(view.rows / several()); }
  function high() { return Math.max(1, Math.min(16, Math.floor(MOST / lines()))); }
  function tall() { return TOP + lines() * high() + AXIS; }
  function wide() { return Math.max(canvas.parentNode.clientWidth - LEFT - 2, 10) / view.n; }

  function counts(line) {
    var numbers = {};
    view.data.experts.slice(line * several(), (line + 1) * several()).forEach(function(choices) {
      choices.forEach(function(expert) { numbers[expert] = (numbers[expert] || 0) + 1; });
    });
    return numbers;
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
  function row(on, line, colours, thin) {
    var numbers = counts(line), of = Math.min(several(), view.data.experts.length - line * several()),
        y = line * high();
    on.pen.fillStyle = colours.band;
    on.pen.fillRect(LEFT, y, view.n * wide(), high() - thin);
    Object.keys(numbers).forEach(function(expert) {
      var step = Math.min(STEPS - 1, Math.max(0, Math.ceil(numbers[expert] / of * STEPS) - 1));
      on.pen.fillStyle = several() === 1 ? colours.bar : colours["s" + step];
      on.pen.fillRect(LEFT + expert * wide(), y, Math.max(wide() - thin, 1), high() - thin);
    });
    if (line % Math.ceil(16 / high()) === 0) {
      on.pen.fillStyle = colours.muted;
      on.pen.textAlign = "left";
      on.pen.fillText(view.label(line * several()), 0, y + Math.min(high(), 16) / 2, LEFT - 8);
    }
  }
  function draw() {
    if (!view.data) { return; }
    var n = lines(), on = sharp(canvas, tall()), line, names = ["band", "muted", "bar", "ink"], step;
    canvas.setAttribute("data-layer", String(view.data.layer));
    for (step = 0; step < STEPS; step += 1) { names.push("s" + step); }
    var colours = coloursOf(canvas, names);
    on.pen.translate(0, TOP);
    for (line = 0; line < n; line += 1) { row(on, line, colours, high() > 4 ? 1 : 0); }
    expertChosen(on, view,
      { x: LEFT, wide: wide(), high: high(), several: several(), bottom: n * high(), right: LEFT + view.n * wide() },
      colours.ink);
    if (view.at) {
      on.pen.strokeStyle = colours.ink;
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
    several: several,
    reserve: function() { canvas.style.height = tall() + "px"; } /* so that nothing moves when the data come */
  };
}

/* Frames the column of the chosen expert and the line of the chosen pass. */
function expertChosen(on, view, at, ink) {
  var chosen = address(), row = chosen.pass === undefined ? -1 : view.data.pass.indexOf(chosen.pass);
  on.pen.strokeStyle = ink;
  on.pen.lineWidth = 1;
  if (chosen.expert !== undefined && chosen.layer === view.data.layer && chosen.expert < view.n) {
    on.pen.strokeRect(at.x + chosen.expert * at.wide, 0, Math.max(at.wide, 3), at.bottom);
  }
  if (row >= 0) {
    on.pen.strokeRect(at.x, Math.floor(row / at.several) * at.high, at.right - at.x, Math.max(at.high, 3));
  }
}

/* The name of a row: the output token of its pass, as on all pages; its pass if that is not known. */
function expertLabel(data, row) {
  return data.gives[row] === null ? "pass " + data.pass[row] : "token " + data.gives[row];
}
/* The text below the picture: a summary, or the row and expert under the pointer; `several` rows share a line. */
function expertWords(view, several) {
  var data = view.data, at = view.at, n = view.rows, rows = n + (n === 1 ? " token" : " tokens");
  if (!at) {
    return rows + ", " + view.n + " experts" + (several > 1 ? ", " + several + " tokens per line" : "") + ".";
  }
  var chosenExperts = data.experts[at.token],
      pass = data.gives[at.token] === null ? "" : " (pass " + data.pass[at.token] + ")";
  var chosen = data.experts.filter(function(row) { return row.indexOf(at.expert) >= 0; }).length;
  var order = data.by_weight ? ", the strongest first" : ", in llama.cpp’s order";
  return expertLabel(data, at.token) + pass + (several > 1 ? ", the first of its line," : "") + " chose " +
    chosenExperts.join(", ") + (chosenExperts.length === 1 ? "" : order) + ". Expert " + at.expert + " is chosen by " +
    chosen + " of " + rows + " in this layer.";
}
/* The place that a key leads to; the first one if no place is chosen. */
function expertBeside(view, by, several) {
  var at = view.at;
  if (!at) { return { token: 0, expert: view.data.experts[0][0] }; }
  return {
    token: Math.min(Math.max(at.token + by[0] * several, 0), view.data.experts.length - 1),
    expert: Math.min(Math.max(at.expert + by[1], 0), view.n - 1)
  };
}

function experts(state, root) {
  function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
  function say(text) { part("status").textContent = text; }
  var canvas = part("grid"), layers = state.layers, shown = null, wanted = null;
  var view = { data: null, n: 1, rows: 0, at: null, label: function(row) { return expertLabel(view.data, row); } };
  var grid = expertGrid(canvas, view), soon = redrawn(grid.draw);

  function look(at) {
    if (!view.data) { return; }
    view.at = at;
    part("about").textContent = expertWords(view, grid.several());
    soon();
  }
  function size(layer) {
    view.n = state.experts[layer];
    view.rows = state.rows[layer];
    view.at = null;
  }
  function put(layer) {
    shown = layer;
    view.data = expertsOf[layer];
    size(layer);
    part("label").textContent = part("choose").value = String(layer);
    part("previous").disabled = layers.indexOf(layer) === 0;
    part("next").disabled = layers.indexOf(layer) === layers.length - 1;
    look(null);
  }
  function show(layer, message) {
    wanted = layer;
    function done() {
      if (wanted !== layer) { return; }
      say(message || "");
      put(layer);
    }
    if (expertsOf[layer]) {
      done();
      return;
    }
    say("Loading …");
    script(state.data + layer + ".js", done,
      function() { say("The choices of layer " + layer + " could not be loaded."); });
  }
  function go(layer) {
    putAddress({ layer: layer, expert: null });
    show(layer);
  }
  /* Chooses a cell: its layer, its expert, and the pass of its row. */
  function pick(at) {
    if (at) { choose({ layer: shown, expert: at.expert, pass: view.data.pass[at.token] }); }
  }
  function step(by) {
    var next = layers[layers.indexOf(shown) + by];
    if (next !== undefined) { go(next); }
  }
  function follow(jump) {
    var to = address().layer, known = layers.indexOf(to) >= 0;
    show(known ? to : state.layer, to === undefined || known ? "" : "No token chose experts in layer " + to + ".");
    if (to !== undefined && jump) { leadTo(root); }
  }

  size(state.layer);
  grid.reserve();
  part("about").textContent = expertWords(view, grid.several());
  root.hidden = false;
  part("choose").addEventListener("change", function(event) { go(parseInt(event.target.value, 10)); });
  part("previous").addEventListener("click", function() { step(-1); });
  part("next").addEventListener("click", function() { step(1); });
  expertInput(canvas, view, grid, { look: look, pick: pick });
  paged(step);
  whenSelected(follow);
  follow(true);
}

function expertInput(canvas, view, grid, acts) {
  var look = acts.look;
  var by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  canvas.addEventListener("pointermove", function(event) {
    var box = canvas.getBoundingClientRect();
    if (view.data) { look(grid.at(event.clientX - box.left, event.clientY - box.top)); }
  });
  canvas.addEventListener("pointerleave", function() { look(null); });
  canvas.addEventListener("click", function(event) {
    var box = canvas.getBoundingClientRect();
    if (view.data) { acts.pick(grid.at(event.clientX - box.left, event.clientY - box.top)); }
  });
  canvas.addEventListener("keydown", function(event) {
    if (event.key === "Enter" && view.data) { acts.pick(view.at); }
    if (!by[event.key] || !view.data || event.ctrlKey || event.metaKey || event.altKey) { return; }
    event.preventDefault();
    look(expertBeside(view, by[event.key], grid.several()));
  });
}

starts.push(function() {
  var state = stateOf("tg-experts"), root = document.querySelector("[data-tg=experts]");
  if (state && root) { experts(state, root); }
});
