/* Columns of numbers as pages/explorers/packing.py writes them: base64 of numbers of seven bits a byte, 0 for null. */
function unpack(text) {
  var bytes = atob(text), made = [], value = 0, scale = 1;
  for (var i = 0; i < bytes.length; i += 1) {
    var byte = bytes.charCodeAt(i);
    value += (byte & 127) * scale;
    if (byte > 127) {
      scale *= 128;
      continue;
    }
    made.push(value === 0 ? null : value % 2 ? (value - 1) / 2 : -value / 2);
    value = 0;
    scale = 1;
  }
  return made;
}
