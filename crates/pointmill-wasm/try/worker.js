// Runs one job after the other, away from the page. A message in is a job; messages out are progress, errors, results and the end.
import * as pm from "./pointmill/index.js";

const LARGEST = 1.5e9;
const ready = pm.load();
ready.then(() => postMessage({ ready: true }), (error) => postMessage({ failed: `The program does not load: ${error.message}` }));
// A trap of the program, or the message of its panic. It cannot be used after that.
const isEnd = (error) => error instanceof WebAssembly.RuntimeError || String(error).includes("pointmill ended");
// The file that is read or used.
let current;
const quoted = (name) => (/^[\w./-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`);

async function bytesOf(file) {
  current = file.name;
  if (file.size > LARGEST) throw new Error(`${file.name}: expected at most 1.5 GB, got ${(file.size / 1e9).toFixed(1)} GB; a tab has no room for it, use the native program`);
  return new Uint8Array(await file.arrayBuffer());
}

// The clouds of a file; of a bag all of them.
async function* clouds(files) {
  for (const [index, file] of files.entries()) {
    postMessage({ progress: index / files.length, text: `Reading ${file.name}` });
    try {
      const all = new pm.Clouds(file.name, await bytesOf(file));
      for (let i = 0; i < all.length; i++) yield all.read(i);
      all.free();
    } catch (error) {
      if (isEnd(error)) throw error;
      postMessage({ error: error.message ?? String(error) });
    }
  }
}

function result(name, output, command, out, extra = "") {
  postMessage({ result: { name, sha256: output.sha256, file: output.file, out, command: `${command} --out ${out}`, text: extra } });
}

const draw = (page) => postMessage({ page }, [page.buffer]);
const count = (n) => n.toLocaleString("en");
const JOBS = {
  async voxelize({ files, size, auto }) {
    const params = JSON.stringify({ voxel_size: [size, size, size] });
    let first = true;
    for await (const cloud of clouds(files)) {
      const output = pm.voxelize(cloud, params, auto);
      const flags = `--voxel-size ${size}${auto ? " --range auto" : ""}`;
      const { voxels, points } = JSON.parse(output.report);
      result(cloud.name, output, `pointmill voxelize ${quoted(cloud.name)} ${flags}`, "voxels.npz", `${count(points)} points, ${count(voxels)} voxels`);
      if (first) draw(pm.drawVoxels(cloud, params, auto));
      first = false;
      cloud.free();
    }
  },
  async downsample({ files, size }) {
    const params = JSON.stringify({ voxel_size: [size, size, size] });
    let first = true;
    for await (const cloud of clouds(files)) {
      const output = pm.downsample(cloud, params);
      const { points, kept } = JSON.parse(output.report);
      result(cloud.name, output, `pointmill downsample ${quoted(cloud.name)} --voxel-size ${size}`, "thin.npz", `${count(kept)} of ${count(points)} points`);
      if (first) draw(pm.drawDownsampled(cloud, params));
      first = false;
      cloud.free();
    }
  },
  async icp({ files, size }) {
    const found = [];
    for await (const cloud of clouds(files.slice(0, 2))) found.push(cloud);
    if (found.length < 2) throw new Error(`icp: expected two clouds, got ${found.length}; choose the source and the target`);
    const params = JSON.stringify({ max_distance: size });
    const output = pm.icp(found[0], found[1], params);
    const report = JSON.parse(output.report);
    const [source, target] = found.map((cloud) => quoted(cloud.name));
    result(`${found[0].name} onto ${found[1].name}`, output, `pointmill icp ${source} ${target} --max-distance ${size}`, "aligned.npz", report.status);
    draw(pm.drawIcp(found[0], found[1], params));
  },
  async ndt({ files, size, of }) {
    const map = new pm.NdtMap(size);
    for await (const cloud of clouds(files)) {
      map.add(cloud);
      cloud.free();
    }
    const output = map.build();
    result(of, output, `pointmill ndt build ${of} --resolution ${size}`, "map.npz", `${count(JSON.parse(output.report).voxels)} cells`);
    draw(map.draw());
  },
  async odometry({ files, size, of }) {
    const odometry = new pm.Odometry(files.length || 10, JSON.stringify({ voxel_size: size }));
    if (!files.length) odometry.push(pm.Clouds.drive());
    for (const [index, file] of files.entries()) {
      const rows = JSON.parse(odometry.push(new pm.Clouds(file.name, await bytesOf(file))));
      for (const { error } of rows) if (error) postMessage({ error });
      const [x, y] = rows.at(-1)?.place ?? [0, 0];
      postMessage({ progress: (index + 1) / files.length, text: `Sweep ${index + 1} of ${files.length}: ${file.name}, x ${x.toFixed(1)} m, y ${y.toFixed(1)} m` });
    }
    const output = odometry.finish();
    const { sweeps, length, statuses } = JSON.parse(output.report);
    result(of || "The built-in drive", output, `pointmill odometry ${of} --voxel-size ${size}`.replace("  ", " "), "poses.txt", `${sweeps} sweeps, ${length.toFixed(1)} m; ${statuses}`);
    draw(odometry.draw());
  },
};

onmessage = async ({ data }) => {
  const start = performance.now();
  current = "The built-in drive";
  try {
    await ready;
    const named = new Map(data.files.map((file) => [file.webkitRelativePath || file.name, file]));
    // The order in which the command takes the files of a folder; two clouds to align keep theirs.
    const names = data.operation === "icp" ? [...named.keys()] : pm.naturalOrder([...named.keys()]);
    const folder = names[0]?.includes("/") ? names[0].split("/")[0] : null;
    const of = names.length === 0 ? "" : folder ? `${quoted(folder)}/` : names.length <= 3 ? names.map(quoted).join(" ") : "FOLDER/";
    await JOBS[data.operation]({ ...data, of, files: names.map((name) => named.get(name)) });
    postMessage({ done: performance.now() - start });
  } catch (error) {
    const message = error.message ?? String(error);
    const ended = `${current}: the program ended here, since the file is damaged inside or needs more memory than a tab has. It is loaded anew: go on with other files. (${message})`;
    postMessage(isEnd(error) ? { failed: ended, broken: true } : { failed: message });
  }
};
