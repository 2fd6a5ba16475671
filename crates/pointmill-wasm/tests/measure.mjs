// Measures the package beside the native command on one thread, in one run: voxels and odometry of a drive.
//
//     node crates/pointmill-wasm/tests/measure.mjs POINTMILL PACKAGE SWEEPS
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";

const [command, folder, drive] = process.argv.slice(2).map((path) => resolve(path));
const pm = await import(join(folder, "node.js"));
await pm.load();
const files = readdirSync(drive).sort().map((name) => join(drive, name));
const median = (all) => all.sort((a, b) => a - b)[all.length >> 1];

function native(...args) {
  const lines = execFileSync(command, [...args, "--threads", "1", "--json"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  return median(lines.split("\n").filter(Boolean).map((line) => JSON.parse(line)).filter((line) => line.type === "frame").map((line) => line.data.ms));
}

function voxels() {
  const times = [];
  for (const file of files) {
    const cloud = new pm.Clouds(file, readFileSync(file)).read(0);
    times.push(pm.voxelize(cloud).ms);
    cloud.free();
  }
  return median(times);
}

function odometry() {
  const run = new pm.Odometry(files.length);
  return median(files.map((file) => JSON.parse(run.push(new pm.Clouds(file, readFileSync(file))))[0].ms));
}

for (let round = 1; round <= 3; round++) {
  const [a, b] = [native("voxelize", drive, "--jobs", "1"), voxels()];
  const [c, d] = [native("odometry", drive), odometry()];
  console.log(`round ${round}: voxels ${a.toFixed(2)} ms native, ${b.toFixed(2)} ms here (${(b / a).toFixed(2)}x); odometry ${c.toFixed(1)} and ${d.toFixed(1)} ms (${(d / c).toFixed(2)}x)`);
}
