/* Tables and drawings that are wider than their box are marked; their titles then say that they scroll sideways. */
ends.push(function() {
  if (!window.ResizeObserver) { return; }
  var observer = new ResizeObserver(function(entries) {
    entries.forEach(function(entry) {
      entry.target.toggleAttribute("data-sideways", entry.target.scrollWidth > entry.target.clientWidth + 1);
    });
  });
  document.querySelectorAll(".tracegen .tg-title + :is(.tg-scroll, .tg-drawing)")
    .forEach(function(box) { observer.observe(box); });
});
