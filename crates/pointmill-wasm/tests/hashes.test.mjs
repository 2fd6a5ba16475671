// Compares results of the package with the files of the native command, by SHA-256.
//
//     POINTMILL=target/release/pointmill node --test crates/pointmill-wasm/tests
//
// PACKAGE is the package that `just wasm` builds (default target/browser/package), POINTMILL_TEST_DATA the folder of public clouds.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";

const root = resolve(import.meta.dirname, "../../..");
const command = resolve(process.env.POINTMILL ?? join(root, "target/release/pointmill"));
const folder = resolve(process.env.PACKAGE ?? join(root, "target/browser/package"));
const data = process.env.POINTMILL_TEST_DATA ?? join(root, "../shared/data");
const pm = await import(join(folder, "node.js"));
await pm.load();

const work = mkdtempSync(join(tmpdir(), "pointmill-wasm-"));
after(() => rmSync(work, { recursive: true }));

const run = (...args) => execFileSync(command, args, { cwd: work, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
const read = (path, name = basename(path)) => new pm.Clouds(name, readFileSync(path)).read(0);

/** Runs the command, and compares the file that it writes with a result. */
function same(output, out, ...args) {
  const printed = run(...args, "--device", "cpu", "--out", out);
  const file = readFileSync(join(work, out));
  assert.equal(output.sha256, createHash("sha256").update(file).digest("hex"), args.join(" "));
  assert.deepEqual(Buffer.from(output.file), file);
  return printed;
}

/** Skips with a word where public clouds are not there. */
const real = (name, path, body) =>
  test(name, { skip: existsSync(join(data, path)) ? false : `there is no ${path}` }, () => body(join(data, path)));

run("synth", "--sweeps", "6", "--format", "ply", "--out", "sweeps/");
const sweeps = readdirSync(join(work, "sweeps")).filter((name) => name.endsWith(".ply")).sort().map((name) => join(work, "sweeps", name));

test("the package is as large as its page says, and of the version of the workspace", () => {
  const bytes = gzipSync(readFileSync(join(folder, "pointmill_bg.wasm"))).length + gzipSync(readFileSync(join(folder, "pointmill.js"))).length;
  console.log(`size: ${(bytes / 1e3).toFixed(0)} kB compressed`);
  assert.ok(bytes <= 1e6, `${bytes} bytes`);
  const version = /^version = "(.*)"/m.exec(readFileSync(join(root, "Cargo.toml"), "utf8"))[1];
  assert.equal(JSON.parse(readFileSync(join(folder, "package.json"))).version, version);
});

test("voxels and downsampled clouds of every format", () => {
  const files = [sweeps[0]];
  for (const format of ["pcd", "bin", "npz", "arrow", "csv"]) {
    run("convert", sweeps[0], "--out", `a.${format}`);
    files.push(join(work, `a.${format}`));
  }
  const las = join(root, "fixtures/las");
  files.push(...readdirSync(las).filter((name) => /\.(las|laz)$/.test(name)).sort().slice(0, 4).map((name) => join(las, name)));
  assert.equal(files.length, 10);
  for (const file of files) {
    const cloud = read(file);
    same(pm.voxelize(cloud), "voxels.npz", "voxelize", file);
    same(pm.downsample(cloud), "thin.npz", "downsample", file);
  }
  const cloud = read(files[0]);
  const auto = pm.voxelize(cloud, JSON.stringify({ voxel_size: [0.5, 0.5, 0.25], max_points: 3 }), true);
  same(auto, "auto.npz", "voxelize", files[0], "--voxel-size", "0.5,0.5,0.25", "--max-points", "3", "--range", "auto");
  const thin = pm.downsample(cloud, JSON.stringify({ voxel_size: [1, 1, 1], keep: "centre" }));
  same(thin, "centre.npz", "downsample", files[0], "--voxel-size", "1", "--keep", "centre");
});

test("NaN of any payload", () => {
  const rows = new Float32Array(6 * 4).map((_, i) => i / 8);
  const bits = new Uint32Array(rows.buffer);
  [0x7fc00001, 0xffc12345, 0x7f800001].forEach((payload, i) => (bits[4 * i + 3] = payload));
  bits[4 * 4] = 0xffffffff;
  writeFileSync(join(work, "nan.bin"), Buffer.from(rows.buffer));
  same(pm.voxelize(read(join(work, "nan.bin")), '{"voxel_size":[1,1,1]}'), "nan.npz", "voxelize", "nan.bin", "--voxel-size", "1");
});

test("arrays of a file are typed", () => {
  const found = pm.arrays(pm.voxelize(read(sweeps[0])).file);
  const { shape: [voxels], data: coords } = found.coords;
  assert.ok(voxels > 1000 && coords instanceof Int32Array && coords.length === 3 * voxels);
  assert.deepEqual(found.voxels.shape, [voxels, 10, found.mean.shape[1]]);
  assert.ok(found.mean.data instanceof Float32Array && found.mean.data.every(Number.isFinite));
});

function registrations(source, target, params, flags) {
  const [a, b] = [source, target].map((path) => read(path));
  const icp = pm.icp(a, b, JSON.stringify(params));
  same(icp, "aligned.npz", "icp", source, target, ...flags);
  assert.equal(JSON.parse(icp.report).status, "step-below");
  const map = new pm.NdtMap(2);
  map.add(b);
  same(map.build(), "map.npz", "ndt", "build", target);
  same(map.align(a), "pose.txt", "ndt", "align", "--map", target, "--scan", source);
}

test("icp and ndt", () => registrations(sweeps[1], sweeps[0], { max_distance: 1 }, ["--max-distance", "1"]));

test("odometry of the built-in drive", () => {
  const odometry = new pm.Odometry(10);
  const rows = JSON.parse(odometry.push(pm.Clouds.drive()));
  assert.equal(rows.length, 10);
  const printed = same(odometry.finish(), "poses.txt", "odometry");
  assert.ok(printed.includes(`sha256: ${odometry.finish().sha256}`), printed);
  assert.match(new TextDecoder().decode(odometry.draw()), /^<!doctype html>/i);
});

test("a sweep that cannot be read has the expected pose", () => {
  const bad = join(work, "sweeps", "00.ply");
  writeFileSync(bad, readFileSync(sweeps[0]).subarray(0, 5000));
  const odometry = new pm.Odometry(4);
  const files = [bad, ...sweeps.slice(0, 2), bad, sweeps[2]];
  const rows = files.flatMap((path) => JSON.parse(odometry.push(new pm.Clouds(path, readFileSync(path)))));
  assert.deepEqual(rows.map((row) => row.error === null), [false, true, true, false, true]);
  const native = spawnSync(command, ["odometry", ...files, "--out", "bad.txt"], { cwd: work, encoding: "utf8" });
  assert.ok(native.stderr.includes(rows[0].error), `${native.stderr}\n${rows[0].error}`);
  assert.deepEqual(Buffer.from(odometry.finish().file), readFileSync(join(work, "bad.txt")));
});

test("errors are the messages of the command", () => {
  const ply = readFileSync(sweeps[0]);
  const files = { "cut.ply": ply.subarray(0, ply.length - 5), "odd.pcd": Buffer.from("no cloud"), "a.doc": Buffer.from("x\n"), "cut.bin": Buffer.alloc(17), "no.las": Buffer.from("LASF"), "no.mcap": Buffer.from("x") };
  for (const [name, bytes] of Object.entries(files)) {
    writeFileSync(join(work, name), bytes);
    const { stderr } = spawnSync(command, ["voxelize", name], { cwd: work, encoding: "utf8" });
    assert.throws(() => new pm.Clouds(name, bytes).read(0), (e) => stderr.includes(e.message) || assert.fail(`${e.message}\n${stderr}`));
  }
  const cloud = read(sweeps[0]);
  assert.throws(() => pm.voxelize(cloud, '{"voxel_size":[0,1,1]}'), /voxel_size/);
  assert.throws(() => pm.voxelize(cloud, '{"size":1}'), /^Error: params: expected lists, .*, got "size"$/);
  assert.throws(() => pm.icp(cloud, cloud, '{"max_iterations":-1}'), /^Error: params: /);
  assert.throws(() => new pm.Clouds("a.ply", ply).read(1), /expected one below 1, got 1/);
});

// There a panic cannot be caught: it would end the program.
test("damage inside LAZ files is an error, or changes points", () => {
  const las = join(root, "fixtures/las");
  const files = readdirSync(las).filter((name) => name.endsWith(".laz")).sort();
  let seed = 1, errors = 0;
  const below = (n) => ((seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0), Math.floor((seed / 2 ** 32) * n));
  for (let round = 0; round < 4000; round++) {
    const name = files[round % files.length];
    const bytes = readFileSync(join(las, name));
    for (let place = below(4); place >= 0; place--) bytes[227 + below(bytes.length - 227)] = below(256);
    try {
      new pm.Clouds(name, bytes).read(0).free();
    } catch (error) {
      errors++;
      assert.ok(!(error instanceof WebAssembly.RuntimeError) && error.message.startsWith(`${name}: `), `round ${round}: ${error}`);
    }
  }
  assert.ok(errors > 1000 && errors < 4000, `${errors} errors`);
});

test("clouds of a bag", () => {
  const bag = join(root, "fixtures/bags", readdirSync(join(root, "fixtures/bags")).find((name) => name.endsWith(".mcap")));
  const clouds = new pm.Clouds(basename(bag), readFileSync(bag));
  same(pm.voxelize(clouds.read(0)), "bag.npz", "voxelize", `${bag}#000000`);
});

real("voxels of KITTI", "kitti/0000000000.bin", (path) => {
  for (const number of [0, 1, 2, 3]) {
    const sweep = path.replace("0.bin", `${number}.bin`);
    same(pm.voxelize(read(sweep)), "voxels.npz", "voxelize", sweep);
  }
});
real("voxels of nuScenes", "nuscenes/ff9eff43.10sweeps.pcd.bin", (path) => same(pm.voxelize(read(path)), "voxels.npz", "voxelize", path));
real("a survey far from zero", "survey/autzen_trim.laz", (path) => {
  const cloud = read(path);
  same(pm.voxelize(cloud, null, true), "voxels.npz", "voxelize", path, "--range", "auto");
  const map = new pm.NdtMap(2);
  map.add(cloud);
  same(map.build(), "map.npz", "ndt", "build", path);
});
real("icp and ndt of KITTI", "kitti/0000000001.bin", (path) =>
  registrations(path, path.replace("1.bin", "0.bin"), { max_distance: 2 }, ["--max-distance", "2"]));
real("odometry of 22 sweeps", "drive", (path) => {
  const odometry = new pm.Odometry(22);
  const files = readdirSync(path).sort();
  assert.equal(files.length, 22);
  for (const file of files) odometry.push(new pm.Clouds(file, readFileSync(join(path, file))));
  const printed = same(odometry.finish(), "drive.txt", "odometry", path);
  assert.ok(printed.includes(odometry.finish().sha256), printed);
});
