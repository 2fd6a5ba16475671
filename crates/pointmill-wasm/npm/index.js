// The package in a browser, on a page or in a worker.
import init from "./pointmill.js";
export * from "./pointmill.js";
export { arrays } from "./npz.js";

export async function load(url = new URL("./pointmill_bg.wasm", import.meta.url)) {
  await init({ module_or_path: url });
}
