// The page: takes files, has a worker compute, and shows results beside the command that makes the same bytes.
const $ = (id) => document.getElementById(id);
const SIZES = { odometry: ["Voxel of the map in metres", 1], voxelize: ["Voxel in metres", 0.2], downsample: ["Voxel in metres", 0.2], icp: ["Greatest distance of a pair in metres", 2], ndt: ["Cell in metres", 2] };
let worker, runs = false, view;
// For tests: what came of the last run.
window.results = [];

function start() {
  worker = new Worker("worker.js", { type: "module" });
  worker.onmessage = ({ data }) => heard(data);
  worker.onerror = (event) => ended(`The worker ended: ${event.message || "the browser refused it"}. Is the page opened from a server, and the browser of 2023 or later?`, true);
}

function heard(data) {
  // What a run said stays, when the program is loaded anew after it.
  if (data.ready && !runs && !document.body.dataset.state) say("The program is loaded.");
  if (data.text) {
    say(data.text);
    $("progress").value = data.progress;
  }
  if (data.error) listed($("errors"), "li", data.error);
  if (data.result) shown(data.result);
  if (data.page) picture(data.page);
  if (data.done !== undefined) ended(window.results.length ? `Done in ${(data.done / 1000).toFixed(2)} s, on this machine, on one thread.` : "No file can be used.", false);
  if (data.failed) ended(data.failed, data.broken);
}

const say = (text) => ($("message").textContent = text);

function listed(parent, kind, text, name = "") {
  const item = document.createElement(kind);
  item.textContent = text;
  item.className = name;
  parent.append(item);
  return item;
}

function ended(text, broken) {
  runs = false;
  $("progress").hidden = $("cancel").hidden = true;
  say(text);
  if (broken) {
    worker.terminate();
    start();
  }
  document.body.dataset.state = "done";
}

function shown(result) {
  window.results.push({ ...result, file: undefined });
  const box = document.createElement("div");
  box.className = "result";
  listed(box, "p", `${result.name}: ${result.text}`);
  const sha = listed(box, "p", "SHA-256 ");
  listed(sha, "code", result.sha256, "sha");
  const line = listed(box, "p", "The native program prints the same one: ");
  listed(line, "code", `${result.command} && sha256sum ${result.out}`);
  if (result.command.includes("FOLDER/")) listed(box, "p", "FOLDER is the one that holds these files and no others.");
  const save = listed(box, "a", `Save ${result.out}`, "button");
  save.href = URL.createObjectURL(new Blob([result.file]));
  save.download = result.out;
  $("results").append(box);
}

function picture(page) {
  const webgl = document.createElement("canvas").getContext("webgl2") !== null;
  $("no-webgl").hidden = webgl;
  $("view").hidden = !webgl;
  if (view) URL.revokeObjectURL(view);
  view = URL.createObjectURL(new Blob([page], { type: "text/html" }));
  if (webgl) $("view").src = view;
}

function run(files) {
  if (runs || !$("form").reportValidity()) return;
  runs = true;
  document.body.dataset.state = "runs";
  window.results = [];
  $("results").replaceChildren();
  $("errors").replaceChildren();
  $("view").hidden = true;
  $("progress").hidden = $("cancel").hidden = false;
  $("progress").removeAttribute("value");
  say(files.length ? `Reading ${files.length === 1 ? files[0].name : `${files.length} files`}` : "Making the built-in drive");
  if (!files.length) $("operation").value = "odometry";
  worker.postMessage({ operation: $("operation").value, size: Number($("size").value), auto: $("auto").checked, files: [...files] });
}

// The files of what was dropped, of folders too.
async function dropped(items) {
  const inside = async (entry, path) => {
    if (entry.isFile) {
      const file = await new Promise((done, failed) => entry.file(done, failed));
      Object.defineProperty(file, "webkitRelativePath", { value: path + entry.name });
      return [file];
    }
    const [all, reader] = [[], entry.createReader()];
    for (let part; (part = await new Promise((done, failed) => reader.readEntries(done, failed))).length; ) all.push(...part);
    return (await Promise.all(all.map((one) => inside(one, `${path}${entry.name}/`)))).flat();
  };
  return (await Promise.all([...items].map((item) => item.webkitGetAsEntry()).filter(Boolean).map((entry) => inside(entry, "")))).flat();
}

function chosen() {
  const [name, size] = SIZES[$("operation").value];
  $("size-name").textContent = name;
  $("size").value = size;
  $("auto-label").hidden = $("operation").value !== "voxelize";
}

$("operation").onchange = chosen;
$("drive").onclick = () => ($("operation").value !== "odometry" ? (($("operation").value = "odometry"), chosen()) : 0, run([]));
$("cancel").onclick = () => ended("Stopped.", true);
for (const id of ["files", "folder"]) $(id).onchange = ({ target }) => (run([...target.files]), (target.value = ""));
$("form").onsubmit = (event) => event.preventDefault();
$("drop").ondragover = (event) => (event.preventDefault(), $("drop").classList.add("over"));
$("drop").ondragleave = () => $("drop").classList.remove("over");
$("drop").ondrop = async (event) => {
  event.preventDefault();
  $("drop").classList.remove("over");
  run(await dropped(event.dataTransfer.items));
};
// Any answer but none asks the reader.
window.onbeforeunload = (event) => {
  if (runs) event.preventDefault();
};
chosen();
start();
