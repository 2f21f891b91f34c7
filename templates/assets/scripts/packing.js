/* Decodes a column of numbers that pages/explorers/packing.py wrote: base64 of bytes with seven bits each, 0: null. */
function unpack(text) {
  var bytes = atob(text), numbers = [], value = 0, scale = 1;
  for (var i = 0; i < bytes.length; i += 1) {
    var byte = bytes.charCodeAt(i);
    value += (byte & 127) * scale;
    if (byte > 127) {
      scale *= 128;
      continue;
    }
    numbers.push(value === 0 ? null : value % 2 ? (value - 1) / 2 : -value / 2);
    value = 0;
    scale = 1;
  }
  return numbers;
}
