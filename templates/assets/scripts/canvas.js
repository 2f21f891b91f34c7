/* Colours and numbers that all canvases share. */
function colourOf(element, name) {
  var probe = make("i");
  probe.style.color = "var(" + name + ")";
  element.parentNode.appendChild(probe);
  var found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
function sharp(canvas, height) {
  var ratio = window.devicePixelRatio || 1, width = Math.max(canvas.parentNode.clientWidth, 1);
  canvas.style.height = height + "px";
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  var pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = "12px Arial, Liberation Sans, sans-serif";
  pen.textBaseline = "middle";
  return { pen: pen, width: width, height: height, ratio: ratio };
}
function redrawn(draw) {
  var asked = false;
  function soon() {
    if (asked) { return; }
    asked = true;
    requestAnimationFrame(function () { asked = false; draw(); });
  }
  window.addEventListener("resize", soon);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", soon);
  new MutationObserver(soon).observe(document.body, { attributes: true });
  new MutationObserver(soon).observe(document.documentElement, { attributes: true });
  return soon;
}
function three(value) {
  if (value === 0) { return "0"; }
  return group(value.toFixed(Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))));
}
function took(ns) {
  if (ns === null || ns === undefined) { return "not recorded"; }
  var units = [["s", 1e9], ["ms", 1e6], ["µs", 1e3]], i;
  for (i = 0; i < units.length; i += 1) { if (ns >= units[i][1]) { return three(ns / units[i][1]) + " " + units[i][0]; } }
  return ns + " ns";
}
function bytesOf(value) {
  var units = [["GiB", 1073741824], ["MiB", 1048576], ["KiB", 1024]], i;
  for (i = 0; i < units.length; i += 1) { if (value >= units[i][1]) { return three(value / units[i][1]) + " " + units[i][0]; } }
  return three(value) + " B";
}
