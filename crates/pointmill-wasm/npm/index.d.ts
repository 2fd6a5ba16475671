export * from "./pointmill.js";

/** Loads the program; everything else needs it. `url` is where `pointmill_bg.wasm` is, by default beside this file. */
export function load(url?: string | URL): Promise<void>;

export type TypedArray =
  | Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array
  | BigInt64Array | BigUint64Array | Float32Array | Float64Array;

/** An array of a file: its values row by row. Values of `float16` come as the bits, in a `Uint16Array`. */
export interface NamedArray {
  dtype: string;
  shape: number[];
  data: TypedArray;
}

/** The arrays of an `.npz` file that a result holds, by their names. */
export function arrays(file: Uint8Array): Record<string, NamedArray>;
