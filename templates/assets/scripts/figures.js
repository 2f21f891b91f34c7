/* Tooltips of figures. An invisible Vega view of the same chart, whose marks have their rows of data
   (charts/pointing.py), lies over the drawing. Vega belongs to the site, not to a version: without it figures have no
   tooltips. */
var figureSpecs = {};
window.tracegenFigure = function(key, book) { figureSpecs[key] = book; };
/* The script that is still to be loaded for the marks of a drawing. */
function figureTargets(drawing) {
  return figureSpecs[drawing.getAttribute("data-key")] ? [] : [drawing.getAttribute("data-targets")];
}

/* The tooltip and the frame around its mark: one of each for all figures of a page. */
function figureTeller() {
  var FRAME = 4, box = make("div", "tg-told"), frame = make("div", "tg-told-frame"), list = box.appendChild(make("dl")),
      of = null;
  box.setAttribute("role", "status");
  box.hidden = frame.hidden = true;
  function place(element, left, top) {
    element.style.left = left + "px";
    element.style.top = top + "px";
  }
  function hide() {
    box.hidden = frame.hidden = true;
    of = null;
  }
  document.addEventListener("keydown", function(event) {
    if (event.key === "Escape") { hide(); }
  });
  window.addEventListener("scroll", hide, { capture: true, passive: true });
  return {
    hide: hide,
    show: function(home, mark) {
      var values = mark.__data__.tooltip, at = mark.getBoundingClientRect(),
          wide = document.documentElement.clientWidth;
      if (of === mark) { return; }
      home.appendChild(frame);
      home.appendChild(box);
      of = mark;
      list.textContent = "";
      Object.keys(values).forEach(function(name) {
        var line = list.appendChild(make("div"));
        line.appendChild(make("dt", "", name));
        line.appendChild(make("dd", "", values[name]));
      });
      box.hidden = frame.hidden = false;
      frame.style.width = at.width + FRAME + "px";
      frame.style.height = at.height + FRAME + "px";
      place(frame, at.left - FRAME / 2, at.top - FRAME / 2);
      var room = box.getBoundingClientRect(), under = at.bottom + 8 + room.height < window.innerHeight;
      place(box, Math.max(4, Math.min(at.left, wide - room.width - 4)),
        under ? at.bottom + 8 : Math.max(4, at.top - 8 - room.height));
    }
  };
}

/* Pointer and keys of a drawing; returns the function that sets the SVG whose marks tell. */
function figurePoints(drawing, teller) {
  var home = drawing.parentNode, at = -1, marks = [];
  drawing.addEventListener("pointerover", function(event) {
    if (marks.indexOf(event.target) >= 0) {
      teller.show(home, event.target);
    } else {
      teller.hide();
    }
  });
  drawing.addEventListener("pointerleave", teller.hide);
  drawing.addEventListener("blur", teller.hide);
  drawing.addEventListener("keydown", function(event) {
    var step = { ".": 1, ",": -1 }[event.key];
    if (!step || !marks.length || event.ctrlKey || event.altKey || event.metaKey) { return; }
    at = at < 0 ? (step > 0 ? 0 : marks.length - 1) : (at + step + marks.length) % marks.length;
    marks[at].scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
    requestAnimationFrame(function() { requestAnimationFrame(function() { teller.show(home, marks[at]); }); });
  });
  drawing.setAttribute("aria-label",
    drawing.getAttribute("aria-label") + "; full stop and comma read its values one by one");
  return function(svg) {
    at = -1;
    marks =
      Array.prototype.filter.call(svg ? svg.querySelectorAll("path, rect, line, text, image") : [], function(element) {
        var tells = element.__data__ && element.__data__.tooltip;
        if (!tells) { element.style.pointerEvents = "none"; }
        figureChooses(element);
        return tells;
      });
    drawing.setAttribute("data-told", String(marks.length));
  };
}

/* A click on a mark that belongs to a pass chooses it. */
function figureChooses(element) {
  var row = element.__data__ && element.__data__.datum;
  if (!row || typeof row.pass_id !== "number") { return; }
  element.style.cursor = "pointer";
  element.addEventListener("click", function(event) {
    event.stopPropagation();
    choose({ pass: row.pass_id });
  });
}

/* The layout of a drawing that is shown. */
function figureShown(drawing) {
  return Array.prototype.filter.call(drawing.children,
    function(element) { return element.tagName === "svg" && getComputedStyle(element).display !== "none"; })[0];
}

/* The Vega document of a layout, with the values that the layouts share put in. */
function figureSpec(book, width) {
  var spec = JSON.parse(JSON.stringify(book.layouts[width]));
  (spec.data || []).forEach(function(source) {
    if (typeof source.values === "number") { source.values = JSON.parse(JSON.stringify(book.values[source.values])); }
  });
  return spec;
}

function figureLively(drawing, teller) {
  var book = figureSpecs[drawing.getAttribute("data-key")], shown = null, points = figurePoints(drawing, teller),
      plain = { mode: "vega", renderer: "svg", actions: false, tooltip: false, hover: false, defaultStyle: false };
  function lay(of) {
    var named = /tg-at-(\d+)/.exec(of.getAttribute("class") || ""), width = named ? named[1] : "0",
        layer = make("div", "tg-targets" + (named ? " " + named[0] : ""));
    if (!book.layouts[width]) { return; }
    layer.setAttribute("aria-hidden", "true");
    window.tracegenVega(layer, figureSpec(book, width), plain).then(function() {
      var svg = layer.querySelector("svg"), drawn = of.viewBox.baseVal, size = svg.viewBox.baseVal;
      if (of !== shown) { return; } /* meanwhile another layout is shown */
      if (Math.abs(drawn.width - size.width) > 1.5 || Math.abs(drawn.height - size.height) > 1.5) {
        points(null); /* the layout differs from the drawing, so tooltips would belong to wrong marks */
        return;
      }
      svg.removeAttribute("width");
      svg.removeAttribute("height");
      drawing.appendChild(layer);
      points(svg);
    });
  }
  function follow() {
    var now = figureShown(drawing), old = drawing.querySelector(".tg-targets");
    if (!now || now === shown) { return; }
    shown = now;
    if (old) { drawing.removeChild(old); }
    teller.hide();
    points(null);
    drawing.removeAttribute("data-told");
    lay(now);
  }
  follow();
  if (window.ResizeObserver) { new ResizeObserver(follow).observe(drawing); }
}

/* Vega is large: a figure asks for it only when a reader comes to it, by pointer, finger or key. */
ends.push(function() {
  var vega = document.documentElement.getAttribute("data-tracegen-vega"),
      drawings = document.querySelectorAll("[data-targets]");
  if (!vega || !drawings.length) { return; }
  var teller = figureTeller(), kinds = ["pointerenter", "focus", "touchstart"];
  drawings.forEach(function(drawing) {
    function wake() {
      var needed = (window.tracegenVega ? [] : [vega]).concat(figureTargets(drawing));
      kinds.forEach(function(kind) { drawing.removeEventListener(kind, wake); });
      scripts(needed, function() { figureLively(drawing, teller); }, function() {});
    }
    kinds.forEach(function(kind) { drawing.addEventListener(kind, wake, { passive: true }); });
  });
});
