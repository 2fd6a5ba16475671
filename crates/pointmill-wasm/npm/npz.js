// The arrays of an .npz file as pointmill writes it: stored, in little-endian and row-major.
const TYPES = {
  "|b1": Uint8Array, "|i1": Int8Array, "|u1": Uint8Array, "<i2": Int16Array, "<u2": Uint16Array, "<f2": Uint16Array,
  "<i4": Int32Array, "<u4": Uint32Array, "<i8": BigInt64Array, "<u8": BigUint64Array, "<f4": Float32Array, "<f8": Float64Array,
};

export function arrays(file) {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const text = (from, length) => new TextDecoder("latin1").decode(file.subarray(from, from + length));
  const end = file.length - 22;
  if (end < 0 || view.getUint32(end, true) !== 0x06054b50) throw new Error("file: expected an .npz archive of pointmill, got another");
  const found = {};
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left > 0; left--) {
    const [name, extra, comment] = [28, 30, 32].map((place) => view.getUint16(at + place, true));
    const local = view.getUint32(at + 42, true);
    const begin = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    // The header of the array: magic, version, length, and a dictionary of Python.
    const header = text(begin + 10, view.getUint16(begin + 8, true));
    const dtype = /'descr': '([^']+)'/.exec(header)[1];
    const shape = (/'shape': \(([^)]*)\)/.exec(header)[1].match(/\d+/g) ?? []).map(Number);
    const data = begin + 10 + header.length;
    const length = shape.reduce((product, n) => product * n, 1) * TYPES[dtype].BYTES_PER_ELEMENT;
    found[text(at + 46, name).replace(/\.npy$/, "")] = { dtype, shape, data: new TYPES[dtype](file.slice(data, data + length).buffer) };
    at += 46 + name + extra + comment;
  }
  return found;
}
