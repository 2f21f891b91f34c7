/* Colours and number formats that all canvases share. */
function colourOf(element, name) {
  var probe = make("i");
  probe.style.color = "var(" + name + ")";
  element.parentNode.appendChild(probe);
  var colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
function coloursOf(element, names) {
  var colours = {};
  names.forEach(function(name) { colours[name] = colourOf(element, "--tg-" + name); });
  return colours;
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
  var pending = false;
  function soon() {
    if (pending) { return; }
    pending = true;
    requestAnimationFrame(function() {
      pending = false;
      draw();
    });
  }
  window.addEventListener("resize", soon);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", soon);
  new MutationObserver(soon).observe(document.body, { attributes: true });
  new MutationObserver(soon).observe(document.documentElement, { attributes: true });
  return soon;
}
/* Numbers as in contract/quantities.py: three significant digits. */
function three(value) {
  if (value === 0) { return "0"; }
  return rounded(value, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value)))));
}
/* The value in the first of `units` that it reaches: [name, size, least value if that is not the size]. */
function inUnit(value, units, smallest) {
  var unit = units.filter(function(row) { return value >= (row[2] || row[1]); })[0];
  return unit ? three(value / unit[1]) + " " + unit[0] : Math.round(value) + " " + smallest;
}
var TIMES = [["h", 3.6e12, 7.2e12], ["min", 6e10, 1.2e11], ["s", 1e9], ["ms", 1e6], ["µs", 1e3]];
var BYTES = [["TiB", Math.pow(2, 40)], ["GiB", Math.pow(2, 30)], ["MiB", Math.pow(2, 20)], ["KiB", Math.pow(2, 10)]];
function took(ns) { return ns === null || ns === undefined ? "not recorded" : inUnit(ns, TIMES, "ns"); }
function bytesOf(value) { return inUnit(value, BYTES, "B"); }
