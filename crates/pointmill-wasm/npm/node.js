// The package in node, which reads the program from its folder.
import { readFile } from "node:fs/promises";
import init from "./pointmill.js";
export * from "./pointmill.js";
export { arrays } from "./npz.js";

export async function load(url = new URL("./pointmill_bg.wasm", import.meta.url)) {
  await init({ module_or_path: await readFile(url) });
}
