/* The pointer input of a timeline: the wheel zooms, a drag moves, two fingers do both, a press chooses, a drag
   with Shift marks an area. */
function moved(canvas, on, picture) {
  var NEAR = 5, down = {}, travelled = 0, apart = 0, marking = null;
  function spot(event) {
    var box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }
  function fingers() {
    return Object.keys(down).map(function(id) { return down[id]; });
  }

  canvas.addEventListener("wheel", function(event) {
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      on.look(on.view.from + event.deltaX * picture.perPixel(), on.view.to + event.deltaX * picture.perPixel());
    } else if (event.deltaY < 0 || !on.whole()) { /* fully zoomed out, the wheel scrolls the page */
      event.preventDefault();
      on.zoom(Math.pow(1.0015, Math.max(-400, Math.min(400, event.deltaY))), picture.time(spot(event).x));
    }
  }, { passive: false });
  canvas.addEventListener("pointerdown", function(event) {
    if (event.button > 0) { return; }
    down[event.pointerId] = spot(event);
    travelled = fingers().length > 1 ? NEAR + 1 : 0;
    apart = 0;
    marking = event.shiftKey ? picture.time(spot(event).x) : null;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", function(event) {
    var now = spot(event), before = down[event.pointerId], others;
    if (!before) {
      on.point(picture.at(now.x, now.y));
      return;
    }
    travelled += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    down[event.pointerId] = now;
    others = fingers();
    if (others.length === 2) {
      var wide = Math.max(Math.abs(others[0].x - others[1].x), 10);
      if (apart) { on.zoom(apart / wide, picture.time((others[0].x + others[1].x) / 2)); }
      apart = wide;
    } else if (marking !== null) {
      on.area(marking, picture.time(now.x), false);
    } else if (travelled > NEAR) {
      var by = (before.x - now.x) * picture.perPixel();
      on.point(null);
      on.look(on.view.from + by, on.view.to + by);
    }
  });
  canvas.addEventListener("pointerup", function(event) {
    var pressed = down[event.pointerId] && travelled <= NEAR, at = spot(event),
        place = pressed && marking === null ? picture.at(at.x, at.y) : null;
    if (marking !== null && down[event.pointerId]) { on.area(marking, picture.time(at.x), true); }
    marking = null;
    delete down[event.pointerId];
    apart = 0;
    if (place) { on.pressed(place, event.pointerType === "mouse"); }
  });
  canvas.addEventListener("pointercancel", function(event) {
    delete down[event.pointerId];
    apart = 0;
  });
  canvas.addEventListener("pointerleave", function() { on.point(null); });
}
