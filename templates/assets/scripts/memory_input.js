/* Pointer, keys and controls of the memory explorer; they call functions of `acts`. */
function memoryPointer(now, acts) {
  var canvas = now.canvas, drag = null;
  function where(event) {
    var box = canvas.getBoundingClientRect(),
        k = Math.floor((event.clientY - box.top - now.drawn.ruler) / now.drawn.step);
    return { px: event.clientX - box.left, lane: k >= 0 && k < now.layout.lanes.length ? k : -1 };
  }
  function point(to) { acts.point(to.lane, memoryUnder(now, to.lane, to.px)); }
  canvas.addEventListener("pointerdown", function(event) {
    drag = { x: event.clientX, from: now.look.from, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", function(event) {
    var to = where(event);
    if (drag && Math.abs(event.clientX - drag.x) > 4) {
      drag.moved = true;
      memoryWindow(now, drag.from - (event.clientX - drag.x) / now.drawn.per, now.look.to - now.look.from);
      acts.soon();
    } else if (to.lane >= 0 && to.px >= now.drawn.left) {
      point(to);
    }
  });
  canvas.addEventListener("pointerup", function(event) {
    var to = where(event), moved = drag && drag.moved;
    drag = null;
    if (!moved && to.lane >= 0) {
      point(to);
      acts.choose();
    }
  });
  canvas.addEventListener("wheel", function(event) {
    if (!event.ctrlKey && document.activeElement !== canvas) { return; }
    event.preventDefault();
    acts.zoom(Math.exp(event.deltaY / 300), now.drawn.at(where(event).px));
  }, { passive: false });
}

function memoryKeys(now, acts) {
  var keys = {
    "+": acts.closer,
    "=": acts.closer,
    "-": acts.farther,
    "0": acts.whole,
    f: acts.fit,
    Enter: acts.choose,
    ArrowUp: function() { acts.lane(-1); },
    ArrowDown: function() { acts.lane(1); }
  };
  function aside(by) {
    return function(event) {
      if (event.shiftKey) {
        acts.pan(0.2 * by);
      } else {
        acts.step(by);
      }
    };
  }
  keys.ArrowLeft = aside(-1);
  keys.ArrowRight = aside(1);
  now.canvas.addEventListener("keydown", function(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) { return; }
    event.preventDefault();
    keys[event.key](event);
  });
}

/* The border between picture and log: moving it changes the height of the picture. */
function memoryBorder(now, acts) {
  var border = now.part("split"), pulled = null;
  function split(by) {
    now.look.high = Math.max(160, Math.min(by, 1200));
    border.setAttribute("aria-valuenow", String(Math.round(now.look.high)));
    acts.soon();
  }
  function high() { return now.drawn.step * now.layout.lanes.length; }
  border.addEventListener("pointerdown", function(event) {
    pulled = { y: event.clientY, high: high() };
    border.setPointerCapture(event.pointerId);
  });
  border.addEventListener("pointermove", function(event) {
    if (pulled) { split(pulled.high + event.clientY - pulled.y); }
  });
  border.addEventListener("pointerup", function() { pulled = null; });
  border.addEventListener("keydown", function(event) {
    var by = { ArrowUp: -20, ArrowDown: 20 }[event.key];
    if (!by) { return; }
    event.preventDefault();
    split(high() + by);
  });
}

/* The number of the tensor of this name, else of the first whose name contains the text; undefined: none. */
function memoryNamed(tensors, text) {
  var all = Object.keys(tensors);
  function name(number) { return tensors[number][0].toLowerCase(); }
  return all.filter(function(number) { return name(number) === text; })[0] ||
    all.filter(function(number) { return name(number).indexOf(text) >= 0; })[0];
}

/* What the address asks to be shown, else what the page offers first; `memoryKeep` puts it there. */
var MEMORY_WORDS = { view: "view", quantity: "colour", order: "order" };
function memoryAsked(part) {
  var words = addressWords(), asked = {};
  Object.keys(MEMORY_WORDS).forEach(function(name) {
    var list = part(name), offered = Array.from(list.options).map(function(option) { return option.value; });
    list.dataset.first = Array.from(list.options)
                           .filter(function(option) { return option.defaultSelected; })
                           .concat(list.options[0])[0]
                           .value;
    var wanted = words[MEMORY_WORDS[name]];
    list.value = asked[name] = offered.indexOf(wanted) >= 0 ? wanted : list.dataset.first;
  });
  return asked;
}
function memoryKeep(now) {
  var words = {};
  Object.keys(MEMORY_WORDS).forEach(function(name) {
    words[MEMORY_WORDS[name]] = now[name] === now.part(name).dataset.first ? null : now[name];
  });
  putAddress(words, undefined, true);
}

function memoryForm(now, acts) {
  var part = now.part, tensors = now.book.data.tensors;
  function number(event) { return parseInt(event.target.value, 10); }
  function on(name, kind, act) { part(name).addEventListener(kind, act); }
  on("view", "change", function(event) {
    now.view = event.target.value;
    acts.stop();
    if (now.view !== "layers") { now.passes.set({ mode: part("which").value = "all" }); }
    memoryKeep(now);
    acts.build();
  });
  on("quantity", "change", function(event) {
    now.quantity = event.target.value;
    memoryKeep(now);
    acts.build(true);
  });
  on("order", "change", function(event) {
    now.order = event.target.value;
    memoryKeep(now);
    acts.build();
  });
  on("which", "change", function(event) {
    if (now.view !== "layers") { /* only this view has a choice of passes */
      now.view = part("view").value = "layers";
      now.look.to = Infinity;
    }
    var to = { mode: event.target.value }, pass = address().pass;
    var at = now.book.data.passes.findIndex(function(entry) { return entry[0] === pass; });
    if (to.mode === "one" && at >= 0) { to.to = at; }
    acts.move(to);
  });
  now.pages.forEach(function(page, i) { part("rows").appendChild(make("option", "", page.name)).value = String(i); });
  on("rows", "change", function(event) { acts.rows(now.pages[number(event)]); });
  on("first", "input", function(event) { acts.move({ from: number(event) }); });
  on("slider", "input", function(event) { acts.move({ to: number(event) }); });
  ["play", "closer", "farther", "fit", "whole"].forEach(
    function(name) { on(name, "click", function() { acts[name](); }); });
  Object.keys(tensors).forEach(function(key) { part("names").appendChild(make("option")).value = tensors[key][0]; });
  on("find", "change", function(event) {
    var text = event.target.value.toLowerCase(), tensor = memoryNamed(tensors, text);
    if (!text) { return; }
    if (tensor === undefined) {
      acts.say("No tensor has this name.");
    } else {
      acts.tensor(parseInt(tensor, 10));
    }
  });
}
