/* Zooming of graph drawings: the drawing scrolls inside its frame, and the page scrolls outside of it. */
var ZOOM_STEP = 1.25, ZOOM_LEAST = 0.05, ZOOM_MOST = 4, PAN_STEP = 80;

/* `height`: the CSS height of the frame, null: as high as the drawing at 100 %. */
function zoomable(frame, svg, title, height) {
  var box = svg.viewBox.baseVal, scale = 1, shown = make("button", "tg-button");
  frame.classList.add("tg-zoomable");
  function frameHeight() {
    if (height !== null) {
      frame.style.height = height;
      return;
    }
    frame.style.height = scale > 1 ? box.height + frame.offsetHeight - frame.clientHeight + "px" : "";
  }
  /* Keeps the point of the drawing at x, y of the frame in place. */
  function zoom(wanted, x, y) {
    var next = Math.min(ZOOM_MOST, Math.max(ZOOM_LEAST, wanted)), ratio = next / scale;
    var left = (frame.scrollLeft + x) * ratio - x, top = (frame.scrollTop + y) * ratio - y;
    scale = next;
    svg.style.width = box.width * scale + "px";
    svg.style.height = box.height * scale + "px";
    frameHeight();
    frame.scrollLeft = left;
    frame.scrollTop = top;
    zoomShown(shown, scale);
  }
  function fromMiddle(wanted) { zoom(wanted, frame.clientWidth / 2, frame.clientHeight / 2); }
  function fit() {
    var room = height === null ? Infinity : frame.clientHeight / box.height;
    fromMiddle(Math.min(frame.clientWidth / box.width, room, 1));
  }
  function at(event) {
    var edge = frame.getBoundingClientRect();
    return [event.clientX - edge.left, event.clientY - edge.top];
  }
  frame.addEventListener("wheel", function(event) {
    if (!event.ctrlKey && document.activeElement !== frame) { return; }
    event.preventDefault();
    var by = event.deltaY * (event.deltaMode === 1 ? 16 : 1), place = at(event);
    zoom(scale * Math.exp(-by * 0.002), place[0], place[1]);
  }, { passive: false });
  var acts = {
    "+": function() { fromMiddle(scale * ZOOM_STEP); },
    "−": function() { fromMiddle(scale / ZOOM_STEP); },
    fit: fit,
    "0": function() { fromMiddle(1); }
  };
  zoomKeys(frame, acts);
  dragged(frame);
  pinched(frame, at, function(ratio, x, y) { zoom(scale * ratio, x, y); });
  frame.parentNode.insertBefore(zoomBar(title, acts, shown), frame);
  zoomShown(shown, scale);
  if (height !== null) {
    frameHeight();
    fit();
  }
}
function zoomShown(button, scale) {
  button.textContent = Math.round(scale * 100) + " %";
  button.setAttribute("aria-label", button.textContent + ", back to 100 % (key: 0)");
}
function zoomBar(title, acts, shown) {
  var bar = make("div", "tg-zoom"),
      words = { "−": "smaller (key: −)", "+": "larger (key: +)", fit: "as large as the frame" };
  bar.setAttribute("role", "group");
  bar.setAttribute("aria-label", "Size of the drawing: " + title);
  Object.keys(words).forEach(function(sign) {
    var button = bar.appendChild(make("button", "tg-button", sign));
    button.type = "button";
    button.title = words[sign];
    button.setAttribute("aria-label", words[sign]);
    button.addEventListener("click", acts[sign]);
  });
  shown.type = "button";
  shown.title = "back to 100 % (key: 0)";
  shown.addEventListener("click", acts[0]);
  bar.appendChild(shown);
  return bar;
}
function zoomKeys(frame, acts) {
  var moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  var keys = {
    "+": acts["+"],
    "=": acts["+"],
    "-": acts["−"],
    "0": acts[0],
    Escape: function() { document.activeElement.blur(); }
  };
  frame.addEventListener("keydown", function(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) { return; }
    var by = moves[event.key], left = frame.scrollLeft, top = frame.scrollTop;
    if (by) {
      frame.scrollLeft += by[0] * PAN_STEP;
      frame.scrollTop += by[1] * PAN_STEP;
      if (left === frame.scrollLeft && top === frame.scrollTop) {
        return;
      } /* at the end of the drawing the page scrolls */
    } else if (keys[event.key]) {
      keys[event.key]();
    } else {
      return;
    }
    event.preventDefault();
  });
}

/* The mouse drags the drawing; a finger scrolls without a script. A drag is not a click. */
function dragged(frame) {
  var from = null, moved = false;
  frame.addEventListener("pointerdown", function(event) {
    moved = false;
    if (event.pointerType === "touch" || event.button !== 0) { return; }
    from = [event.clientX, event.clientY, frame.scrollLeft, frame.scrollTop];
  });
  frame.addEventListener("pointermove", function(event) {
    if (!from) { return; }
    var x = event.clientX - from[0], y = event.clientY - from[1];
    if (!moved && Math.abs(x) + Math.abs(y) < 5) { return; }
    if (!moved) {
      moved = true;
      frame.setPointerCapture(event.pointerId);
      frame.classList.add("tg-held");
    }
    frame.scrollLeft = from[2] - x;
    frame.scrollTop = from[3] - y;
  });
  ["pointerup", "pointercancel"].forEach(function(end) {
    frame.addEventListener(end, function() {
      from = null;
      frame.classList.remove("tg-held");
    });
  });
  frame.addEventListener("dragstart", function(event) { event.preventDefault(); });
  frame.addEventListener("click", function(event) {
    if (moved) {
      event.preventDefault();
      event.stopPropagation();
      moved = false;
    }
  }, true);
}

/* Two fingers zoom by the change of their distance. */
function pinched(frame, at, zoom) {
  var apart = 0;
  function distance(touches) {
    return Math.hypot(touches[0].clientX - touches[1].clientX, touches[0].clientY - touches[1].clientY);
  }
  frame.addEventListener("touchstart", function(event) {
    if (event.touches.length === 2) {
      apart = distance(event.touches);
      event.preventDefault();
    }
  }, { passive: false });
  frame.addEventListener("touchmove", function(event) {
    if (event.touches.length !== 2 || !apart) { return; }
    event.preventDefault();
    var now = distance(event.touches), first = at(event.touches[0]), second = at(event.touches[1]);
    zoom(now / apart, (first[0] + second[0]) / 2, (first[1] + second[1]) / 2);
    apart = now;
  }, { passive: false });
}
