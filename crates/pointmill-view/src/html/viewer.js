// Draws the scene of this page with WebGL 2. The scene is the JSON of #scene; its arrays are the zlib stream of #arrays, in base64.
"use strict";
(async () => {
  const $ = (id) => document.getElementById(id);
  const fail = (text) => {
    $("message").textContent = text;
    $("message").hidden = false;
    document.body.dataset.state = "failed";
  };
  window.onerror = (text) => fail(text);
  window.onunhandledrejection = (event) => fail(String(event.reason));

  const scene = JSON.parse($("scene").textContent);
  const frames = scene.frames.length;
  const canvas = $("canvas");
  const gl = canvas.getContext("webgl2", { antialias: true });
  if (!gl) return fail("This page needs WebGL 2, which this browser does not provide.");
  if (!window.DecompressionStream) return fail("This page needs Chrome 85, Firefox 113, Safari 16.4, or a later version.");

  // --- Arrays.

  const text = atob($("arrays").textContent);
  $("arrays").remove();
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let offset = 0;
  const take = (n) => bytes.subarray(offset, (offset += n));
  const floats = (n) => new Float32Array(take(4 * n).slice().buffer);

  // Positions are differences of u16 in planes: low bytes and high bytes of x, y and z. A value of 8 bits follows where there are values.
  const positions = (n, hasValues) => {
    const out = new Uint16Array(4 * n);
    for (let k = 0; k < 3; k++) {
      const [low, high] = [take(n), take(n)];
      for (let i = 0, at = 0; i < n; i++) out[4 * i + k] = at += low[i] + 256 * high[i];
    }
    if (hasValues) take(n).forEach((value, i) => (out[4 * i + 3] = 257 * value));
    return out;
  };

  // --- Programs. What a layer looks like in each mode is decided in `paint`.

  const common = `#version 300 es
    precision highp float; precision highp int;
    layout(location = 0) in vec4 at; layout(location = 1) in vec3 own;
    uniform mat4 model, view; uniform vec4 heights_values; uniform vec2 range, times, size;
    uniform float width; uniform int mode, up; uniform sampler2D palette;
    out vec3 colour; out vec3 world;
    vec3 paint(vec3 p, float value, int index) {
      float t = (p[up] - heights_values.x) / (heights_values.y - heights_values.x);
      if (mode == 2) t = (mix(range.x, range.y, value) - heights_values.z) / (heights_values.w - heights_values.z);
      if (mode == 3) t = times.x + times.y * float(index);
      return mode == 0 ? own : texture(palette, vec2(clamp(t, 0.01, 0.99), 0.5)).rgb;
    }`;
  const sources = {
    points: `void main() {
      vec4 p = model * vec4(at.xyz, 1.0);
      world = p.xyz; colour = paint(p.xyz, at.w, gl_VertexID);
      gl_Position = view * p; gl_PointSize = width;
    }`,
    // A segment is a strip of two triangles, as wide everywhere.
    line: `layout(location = 2) in vec4 next;
    void main() {
      vec4 from = model * vec4(at.xyz, 1.0), to = model * vec4(next.xyz, 1.0);
      bool second = gl_VertexID % 2 == 1;
      world = second ? to.xyz : from.xyz; colour = paint(world, at.w, gl_InstanceID);
      vec4 p = view * from, q = view * to;
      float near = 1e-3;
      if (p.w < near && q.w > near) p = mix(p, q, (near - p.w) / (q.w - p.w));
      if (q.w < near && p.w > near) q = mix(q, p, (near - q.w) / (p.w - q.w));
      vec2 along = (q.xy / q.w - p.xy / p.w) * size;
      along = length(along) > 0.0 ? normalize(along) : vec2(1.0, 0.0);
      gl_Position = second ? q : p;
      gl_Position.xy += vec2(-along.y, along.x) * (gl_VertexID < 2 ? -width : width) / size * gl_Position.w;
    }`,
    solids: `layout(location = 2) in vec3 corner;
    layout(location = 3) in vec3 a; layout(location = 4) in vec3 b; layout(location = 5) in vec3 c;
    void main() {
      vec4 middle = model * vec4(at.xyz, 1.0);
      world = middle.xyz + corner.x * a + corner.y * b + corner.z * c;
      colour = paint(middle.xyz, at.w, gl_InstanceID);
      gl_Position = view * vec4(world, 1.0);
    }`,
  };
  // Faces are lit by their normal, which follows from the neighbours of a pixel.
  const fragment = `#version 300 es
    precision highp float;
    in vec3 colour; in vec3 world; uniform bool lit; uniform float opacity, shade; out vec4 pixel;
    void main() {
      float light = 1.0;
      if (lit) light = 0.55 + 0.45 * abs(dot(normalize(cross(dFdx(world), dFdy(world))), vec3(0.36, 0.48, 0.8)));
      pixel = vec4(colour * light * shade, opacity);
    }`;
  const compile = (kind, source) => {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    return shader;
  };
  const programs = {};
  for (const [name, source] of Object.entries(sources)) {
    const program = gl.createProgram();
    gl.attachShader(program, compile(gl.VERTEX_SHADER, common + source));
    gl.attachShader(program, compile(gl.FRAGMENT_SHADER, fragment));
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    const uniforms = ["model", "view", "heights_values", "range", "times", "size", "width", "mode", "lit", "opacity", "up", "shade"];
    programs[name] = { program, at: Object.fromEntries(uniforms.map((u) => [u, gl.getUniformLocation(program, u)])) };
  }

  // Colours from low to high: those of pictures, ones that people see who do not see red and green, and grey.
  const maps = [scene.palette, "3b6fb55f83a87f949b9fa68dbfb97bdfcd62ffe13d", "4a4f57f4f6f8"];
  gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
  gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
  for (const axis of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, axis, gl.CLAMP_TO_EDGE);
  const chooseMap = (k) => {
    const stops = maps[k].match(/../g).map((hex) => parseInt(hex, 16));
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB8, stops.length / 3, 1, 0, gl.RGB, gl.UNSIGNED_BYTE, Uint8Array.from(stops));
    $("ramp").style.background = `linear-gradient(90deg,${maps[k].match(/.{6}/g).map((hex) => "#" + hex)})`;
  };
  $("map").value = scene.paint === "intensity" ? 1 : 0;
  chooseMap($("map").value);

  // --- Shapes of solids: a ball of radius 1, a cube from -1 to 1, and its edges with a line to its front.

  const ball = { corners: [], faces: [] };
  const [around, up] = [12, 7];
  for (let j = 0; j <= up; j++) {
    for (let i = 0; i < around; i++) {
      const [u, v] = [(2 * Math.PI * i) / around, (Math.PI * j) / up];
      ball.corners.push(Math.sin(v) * Math.cos(u), Math.sin(v) * Math.sin(u), Math.cos(v));
      const [a, b] = [j * around + i, j * around + ((i + 1) % around)];
      if (j < up) ball.faces.push(a, b, a + around, b, b + around, a + around);
    }
  }
  const corners = [];
  for (let i = 0; i < 8; i++) corners.push(i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 1 : -1);
  const cube = { corners, faces: [0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4, 2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5] };
  const wire = { corners: [...corners, 0, 0, 0, 1, 0, 0], faces: [8, 9] };
  for (let i = 0; i < 8; i++) for (const bit of [1, 2, 4]) if (!(i & bit)) wire.faces.push(i, i | bit);
  const solids = { ball, cube, wire };
  const BALL_OPACITY = 0.45;

  const buffer = (data, kind = gl.ARRAY_BUFFER) => {
    gl.bindBuffer(kind, gl.createBuffer());
    gl.bufferData(kind, data, gl.STATIC_DRAW);
  };
  const attribute = (place, size, type, stride, start, divisor) => {
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, size, type, type !== gl.FLOAT, stride, start);
    gl.vertexAttribDivisor(place, divisor);
  };

  const place = (layer, i, m) => {
    const [x, y, z] = [0, 1, 2].map((k) => layer.cells[4 * i + k] / 65535);
    return [0, 1, 2].map((k) => m[k] * x + m[4 + k] * y + m[8 + k] * z + m[12 + k]);
  };
  for (const layer of scene.layers) {
    const n = layer.count;
    const solid = solids[layer.shape];
    layer.program = solid ? "solids" : layer.shape;
    layer.array = gl.createVertexArray();
    gl.bindVertexArray(layer.array);
    const each = layer.shape === "points" ? 0 : 1;
    layer.cells = positions(n, layer.range !== null);
    buffer(layer.cells);
    attribute(0, 4, gl.UNSIGNED_SHORT, 8, 0, each);
    if (layer.shape === "line") attribute(2, 4, gl.UNSIGNED_SHORT, 8, 8, 1);
    if (layer.has_colours) {
      buffer(take(3 * n).slice());
      attribute(1, 3, gl.UNSIGNED_BYTE, 3, 0, each);
    }
    if (solid) {
      if (layer.has_axes) {
        buffer(floats(9 * n));
        for (let k = 0; k < 3; k++) attribute(3 + k, 3, gl.FLOAT, 36, 12 * k, 1);
      }
      buffer(Float32Array.from(solid.corners));
      attribute(2, 3, gl.FLOAT, 12, 0, 0);
      buffer(Uint16Array.from(solid.faces), gl.ELEMENT_ARRAY_BUFFER);
      layer.indices = solid.faces.length;
    }
    layer.models = [];
    for (let k = 0; k < layer.poses; k++) layer.models.push(floats(16));
    // When the elements were: all of a sweep at once, those of a line one after the other.
    const step = 1 / Math.max(layer.count - 2, 1);
    layer.times = layer.at !== null ? [layer.at / Math.max(frames - 1, 1), 0] : layer.shape === "line" ? [0, step] : null;
  }
  // The ground: lines at round global coordinates.
  const grid = { array: gl.createVertexArray(), step: 10 ** Math.floor(Math.log10(scene.radius / 2)) };
  gl.bindVertexArray(grid.array);
  const drawGrid = () => {
    const [up, ends] = [state.up, []];
    const [u, v] = [(up + 1) % 3, (up + 2) % 3];
    for (const [along, across] of [[u, v], [v, u]]) {
      const start = -(scene.origin[across] % grid.step);
      for (let i = -40; i <= 40; i++) {
        for (let k = -40; k < 40; k += 4) {
          for (const end of [k, k + 4]) {
            const at = [0, 0, 0];
            [at[along], at[across], at[up]] = [end * grid.step - (scene.origin[along] % grid.step), i * grid.step + start, heights()[0]];
            ends.push(...at);
          }
        }
      }
    }
    gl.bindVertexArray(grid.array);
    buffer(Float32Array.from(ends));
    attribute(0, 3, gl.FLOAT, 12, 0, 0);
    grid.count = ends.length / 3;
  };
  gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE);

  // --- Controls.

  // Lines alone have no ground under them and nothing beside them: they have a grid, and are wider.
  const isBare = scene.layers.every((layer) => layer.shape === "line" || layer.count <= 1);
  const state = { frame: scene.start, isPlaying: false, keep: false, hidden: new Set(), mode: scene.paint, width: 2, up: scene.up, grid: isBare, isLight: false, follow: false, picked: [] };
  const sensor = frames > 1 && scene.layers.find((layer) => layer.name === "sensor" && layer.poses > 1);
  // The longest extent of lines, and in a high window of all that is long, lies along the longer side of the window.
  const home = () => {
    if (state.up === 1) return { yaw: 0, pitch: 0.3 };
    const flat = samples.map((p) => [1, 2].map((k) => p[(state.up + k) % 3]));
    const mean = [0, 1].map((k) => flat.reduce((sum, p) => sum + p[k], 0) / Math.max(flat.length, 1));
    const [a, b, c] = [[0, 0], [0, 1], [1, 1]].map(([i, k]) => flat.reduce((sum, p) => sum + (p[i] - mean[i]) * (p[k] - mean[k]), 0));
    const [along, spread] = [Math.atan2(2 * b, a - c) / 2, Math.hypot(a - c, 2 * b)];
    const isLong = a + c + spread > 3 * (a + c - spread);
    if (canvas.clientWidth < canvas.clientHeight && isLong) return { yaw: along + Math.PI, pitch: 1.2 };
    return { yaw: isBare ? along - Math.PI / 2 : -Math.PI / 2, pitch: 0.9 };
  };

  // Some of the places of a scene at a frame, to frame it and to find its heights.
  const samples = scene.layers.flatMap((layer) => {
    const every = Math.max(1, Math.ceil(layer.count / (layer.at === null ? 4096 : 32)));
    return layer.is_shown ? Array.from({ length: Math.ceil(layer.count / every) }, (_, i) => place(layer, i * every, layer.models[0])) : [];
  });
  const quantile = (values, share) => values.sort((a, b) => a - b)[Math.round(share * (values.length - 1))] ?? 0;
  const memory = {};
  const heights = () => {
    if (state.up === scene.up) return scene.heights;
    return (memory[state.up] ??= [0.02, 0.98].map((share) => quantile(samples.map((p) => p[state.up]), share)));
  };
  const fitted = {};
  // Looks at everything from a side: what most places need, across and along the window.
  const fit = (view) => {
    Object.assign(state, { target: [0, 0, 0], follow: false }, view);
    if (!samples.length) return (state.distance = 2.4 * scene.radius), draw();
    const { right, above, back } = axes();
    const along = (axis, p) => axis.reduce((sum, x, k) => sum + x * (p[k] - state.target[k]), 0);
    // The rays of a drive reach far beyond its streets, and a few points beyond the rest; boxes alone all count.
    const inside = sensor ? 0.9 : scene.layers.some((layer) => layer.shape === "points") ? 0.99 : 1;
    // The bar and the buttons cover a part of the window.
    const [wide, high] = [(1.06 * canvas.clientHeight) / Math.max(canvas.clientWidth, 1), 1.16];
    state.distance = 1e3 * scene.radius;
    for (let pass = 0; pass < 3; pass++) {
      for (const axis of [right, above]) {
        const at = samples.map((p) => along(axis, p) / Math.max(1 - along(back, p) / state.distance, 0.1));
        const middle = (quantile([...at], 1 - inside) + quantile(at, inside)) / 2;
        state.target = state.target.map((x, k) => x + axis[k] * middle);
      }
      const needs = samples.map((p) => along(back, p) + FOCAL * Math.max(Math.abs(along(right, p)) * wide, Math.abs(along(above, p)) * high));
      state.distance = Math.max(quantile(needs, inside), scene.radius / 1e3);
    }
    for (const key of ["yaw", "pitch", "distance", "target"]) fitted[key] = state[key];
    draw();
  };
  // Where the sensor is at a frame, and which way it faces around then.
  const pose = (frame) => {
    const at = (k) => sensor.models[Math.min(Math.max(k, 0), sensor.poses - 1)];
    let [x, y] = [0, 0];
    for (let k = -4; k <= 4; k++) [x, y] = [x + at(frame + k)[0], y + at(frame + k)[1]];
    return { place: place(sensor, 1, at(frame)), yaw: Math.atan2(y, x) };
  };
  const follow = (isOn) => {
    state.follow = isOn && !!sensor;
    if (state.follow) Object.assign(state, { yaw: Math.PI, pitch: 0.65, distance: Math.min(45, 2 * scene.radius) * Math.min(Math.max(canvas.clientHeight / Math.max(canvas.clientWidth, 1), 1), 1.8) });
    draw();
  };
  const modes = ["own", "height", "intensity", "time"];
  const can = {
    own: scene.layers.some((layer) => layer.has_colours || layer.is_coloured),
    // Of a cloud by its height that is what values are.
    height: !scene.values.startsWith("height"),
    intensity: scene.layers.some((layer) => layer.range !== null),
    time: scene.layers.some((layer) => layer.times !== null),
  };
  for (const mode of modes.filter((mode) => can[mode] || mode === scene.paint)) $("paint").add(new Option({ own: "layer", intensity: scene.values }[mode] ?? mode, mode));
  $("paint").value = state.mode;
  const names = new Map(scene.layers.map((layer) => [layer.name, layer]));
  for (const [name, layer] of names) {
    const [label, box, swatch] = ["label", "input", "i"].map((tag) => document.createElement(tag));
    box.type = "checkbox";
    box.checked = layer.is_shown;
    if (!layer.is_shown) state.hidden.add(name);
    box.onchange = () => (state.hidden[box.checked ? "delete" : "add"](name), draw());
    swatch.style.background = `rgb(${layer.colour})`;
    label.append(box, swatch, name);
    $("layers").append(label);
  }
  $("bar").hidden = frames < 2;
  $("slider").max = Math.max(frames - 1, 0);
  $("keep-label").hidden = frames < 2 || !scene.layers.some((layer) => layer.at !== null);
  $("keep").onchange = () => ((state.keep = $("keep").checked), draw());
  $("paint").onchange = () => ((state.mode = $("paint").value), draw());
  $("map").onchange = () => (chooseMap($("map").value), draw());
  $("up").onchange = () => ((state.up = Number($("up").value)), drawGrid(), fit(home()));
  $("step").textContent = `of ${grid.step} m`;
  $("grid").onchange = () => ((state.grid = $("grid").checked), draw());
  $("up-label").hidden = !!sensor;
  $("follow").hidden = !sensor;
  $("panel").open = window.innerWidth > 600;
  $("close").onclick = (event) => (event.preventDefault(), actions.menu());
  const actions = {
    menu: () => {
      const isHidden = ($("panel").hidden = !$("panel").hidden);
      if (!isHidden) $("panel").open = true;
      $("menu").setAttribute("aria-pressed", !isHidden);
    },
    reset: () => fit(home()),
    top: () => fit({ ...home(), pitch: Math.PI / 2 }),
    side: () => fit({ ...home(), pitch: 0 }),
    follow: () => (state.follow ? fit(home()) : follow(true)),
    light: () => ((state.isLight = !state.isLight), draw()),
    save: () => save(),
    ask: () => ($("help").hidden = !$("help").hidden),
  };
  for (const name in actions) $(name).onclick = actions[name];
  $("help").onclick = () => ($("help").hidden = true);
  const letters = { m: "menu", r: "reset", t: "top", s: "side", f: "follow", l: "light", p: "save", "?": "ask" };
  // The view with what is drawn over it, and the title and the command below each other.
  const save = () => {
    const picture = document.createElement("canvas");
    [picture.width, picture.height] = [canvas.width, canvas.height];
    paint();
    const pen = picture.getContext("2d");
    for (const part of [canvas, $("over")]) pen.drawImage(part, 0, 0);
    const ratio = window.devicePixelRatio || 1;
    pen.scale(ratio, ratio);
    pen.fillStyle = getComputedStyle(document.body).color;
    [document.title, $("command").textContent].forEach((line, k) => ((pen.font = `${14 - 2 * k}px sans-serif`), pen.fillText(line, 12, 24 + 18 * k)));
    const link = document.createElement("a");
    link.href = picture.toDataURL("image/png");
    link.download = "pointmill.png";
    link.click();
  };
  // A link keeps the view: the part of the address behind # says what the reader changed.
  const keeps = { frame: "slider", paint: "paint", map: "map", size: "size", up: "up" };
  const told = () => {
    const { yaw, pitch, distance, target } = state;
    const view = [yaw, pitch, distance, ...target].map((x) => Number(x.toPrecision(6)));
    const out = [`view=${view}`, ...Object.entries(keeps).map(([name, id]) => `${name}=${$(id).value}`)];
    for (const [name, isOn] of Object.entries({ grid: state.grid, keep: state.keep, light: state.isLight, follow: state.follow })) out.push(`${name}=${Number(isOn)}`);
    const hidden = [...names.keys()].flatMap((name, k) => (state.hidden.has(name) ? [k] : []));
    return "#" + [...out, `hide=${hidden}`].join("&");
  };
  let link = null;
  let waits = null;
  const keepLink = () => {
    link ??= told();
    clearTimeout(waits);
    waits = setTimeout(() => {
      const now = told();
      if (state.isPlaying || now === link) return;
      history.replaceState(null, "", (link = now));
    }, 300);
  };
  // Takes the view of the address; what it does not name, or what is no value, stays as it is.
  const restore = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    const view = (asked.get("view") ?? "").split(",").map(Number);
    if (view.length !== 6 || !view.every(Number.isFinite) || view[2] <= 0) return false;
    play(false);
    for (const [name, id] of Object.entries(keeps)) {
      const [control, before] = [$(id), $(id).value];
      control.value = asked.get(name) ?? before;
      if (control.value === "") control.value = before;
      (control.oninput ?? control.onchange)();
    }
    const isOn = (name, otherwise) => (asked.has(name) ? asked.get(name) === "1" : otherwise);
    $("grid").checked = state.grid = isOn("grid", state.grid);
    $("keep").checked = state.keep = isOn("keep", state.keep);
    Object.assign(state, { isLight: isOn("light", state.isLight), follow: isOn("follow", false) && !!sensor });
    [state.yaw, state.pitch, state.distance] = [view[0], Math.min(Math.max(view[1], -Math.PI / 2), Math.PI / 2), view[2]];
    [state.target, fitted.distance] = [view.slice(3), null];
    zoom(1);
    if (asked.has("hide")) {
      const hidden = asked.get("hide").split(",");
      document.querySelectorAll("#layers input").forEach((box, k) => ((box.checked = !hidden.includes(String(k))), box.onchange()));
    }
    draw();
    return true;
  };
  window.onhashchange = restore;
  $("size").oninput = () => ((state.width = Number($("size").value)), draw());

  const show = (frame) => {
    state.frame = Math.min(Math.max(frame, 0), Math.max(frames - 1, 0));
    $("slider").value = state.frame;
    draw();
  };
  const play = (isPlaying) => {
    state.isPlaying = isPlaying;
    $("play").textContent = isPlaying ? "Pause" : "Play";
    if (!isPlaying) return keepLink();
    // A slow machine takes longer and leaves no frame out.
    let last = performance.now();
    const tick = (now) => {
      if (!state.isPlaying) return;
      if (now - last >= scene.frame_ms / Number($("speed").value)) {
        last = now;
        show((state.frame + 1) % frames);
      }
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  };
  $("play").onclick = () => play(!state.isPlaying);
  $("slider").oninput = () => (play(false), show(Number($("slider").value)));
  window.onkeydown = (event) => {
    if (event.target.tagName === "SELECT" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") return void ($("help").hidden = true);
    if (letters[event.key] && !$(letters[event.key]).hidden) return actions[letters[event.key]]();
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === " " && event.target.tagName !== "BUTTON") play(frames > 1 && !state.isPlaying);
    else if (step && event.target !== $("slider")) play(false), show(state.frame + step);
    else return;
    event.preventDefault();
  };

  const fingers = new Map();
  let pressed = null;
  canvas.onpointerdown = (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event);
    pressed = fingers.size === 1 && event.button === 0 ? [event.clientX, event.clientY] : null;
  };
  canvas.onpointerup = (event) => {
    fingers.delete(event.pointerId);
    if (pressed && Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) < 4) pick(...pressed);
  };
  canvas.onpointercancel = (event) => fingers.delete(event.pointerId);
  canvas.oncontextmenu = (event) => event.preventDefault();
  const zoom = (factor) => (state.distance = Math.min(Math.max(state.distance * factor, scene.radius / 1e4), 20 * scene.radius));
  canvas.onwheel = (event) => (event.preventDefault(), zoom(Math.exp(0.001 * event.deltaY * (event.deltaMode ? 30 : 1))), draw());
  canvas.onpointermove = (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
    const other = [...fingers.values()].find((finger) => finger.pointerId !== event.pointerId);
    const apart = (finger) => Math.hypot(finger.clientX - other.clientX, finger.clientY - other.clientY);
    if (other) zoom(apart(before) / Math.max(apart(event), 1));
    if (other || event.shiftKey || event.buttons & 6) {
      const metres = (2 * state.distance) / FOCAL / canvas.clientHeight / (other ? 2 : 1);
      const { right, above } = axes();
      if (state.follow) Object.assign(state, looking(), { follow: false });
      state.target = state.target.map((x, k) => x - metres * (right[k] * dx - above[k] * dy));
    } else {
      state.yaw -= 0.006 * dx;
      state.pitch = Math.min(Math.max(state.pitch + 0.006 * dy, -Math.PI / 2), Math.PI / 2);
    }
    fingers.set(event.pointerId, event);
    draw();
  };

  // --- Drawing.

  // Half of the window's height at a distance of one.
  const FOCAL = 2.4;
  const looking = () => {
    if (!state.follow) return { yaw: state.yaw, target: state.target };
    const { place, yaw } = pose(state.frame);
    return { yaw: yaw + state.yaw, target: place };
  };
  // The eye is at `back` from the target. `above` is up in the image.
  const axes = () => {
    const { yaw } = looking();
    const [cy, sy, cp, sp] = [Math.cos(yaw), Math.sin(yaw), Math.cos(state.pitch), Math.sin(state.pitch)];
    const turned = (v) => [0, 1, 2].map((k) => v[(k + 2 - state.up) % 3]);
    return { right: turned([-sy, cy, 0]), above: turned([-cy * sp, -sy * sp, cp]), back: turned([cy * cp, sy * cp, sp]) };
  };
  const viewed = () => {
    const { right, above, back } = axes();
    const [near, far] = [state.distance / 500, state.distance + 20 * scene.radius];
    const { target } = looking();
    const rows = [right, above, back].map((axis) => [...axis, -axis.reduce((sum, x, k) => sum + x * target[k], 0)]);
    rows[2][3] -= state.distance;
    const [x, y, z] = rows;
    const depth = [(far + near) / (near - far), (2 * far * near) / (near - far)];
    const out = new Float32Array(16);
    for (let c = 0; c < 4; c++) {
      out[4 * c] = (x[c] * FOCAL * canvas.height) / canvas.width;
      out[4 * c + 1] = y[c] * FOCAL;
      out[4 * c + 2] = z[c] * depth[0] + (c === 3 ? depth[1] : 0);
      out[4 * c + 3] = -z[c];
    }
    return out;
  };
  // A layer without what a mode shows has its own colour, and so have lines and edges, except that lines have times.
  const mode = (layer) => {
    const flat = layer.shape === "line" || layer.shape === "wire" || ((layer.shape === "ball" || layer.shape === "points") && layer.is_coloured);
    const has = { own: true, height: !flat, intensity: layer.range !== null, time: layer.times !== null };
    return has[state.mode] ? modes.indexOf(state.mode) : 0;
  };
  const modelOf = (layer) => layer.models[layer.poses > 1 ? Math.min(state.frame, layer.poses - 1) : 0];
  const isVisible = (layer) =>
    !state.hidden.has(layer.name) && layer.count > 0 && (layer.at === null || layer.at === state.frame || (state.keep && layer.at < state.frame));

  // The point of a click: of those within eight pixels the nearest to the eye.
  const pick = (x, y) => {
    const view = viewed();
    let best = null;
    for (const layer of scene.layers.filter((layer) => isVisible(layer) && layer.shape === "points")) {
      const m = modelOf(layer);
      for (let i = 0; i < layer.count; i++) {
        const p = place(layer, i, m);
        const [u, v, w] = [0, 1, 3].map((k) => view[k] * p[0] + view[4 + k] * p[1] + view[8 + k] * p[2] + view[12 + k]);
        const away = Math.hypot((u / w / 2 + 0.5) * canvas.clientWidth - x, (0.5 - v / w / 2) * canvas.clientHeight - y);
        const worth = w + 0.02 * away * state.distance;
        if (w > 0 && away < 8 && (!best || worth < best.worth)) best = { worth, p, name: layer.name };
      }
    }
    state.picked = best ? [...state.picked.slice(-1), best] : [];
    draw();
  };

  // Numbers of the lines of the grid, along the sides that the scene has on it; some are left out where they would touch.
  const nameGrid = (seen, write, ink) => {
    const [up, ends] = [state.up, [0, 1, 2].map((k) => samples.map((p) => p[k])).map((all) => [all.reduce((a, b) => Math.min(a, b), Infinity), all.reduce((a, b) => Math.max(a, b), -Infinity)])];
    if (!samples.length) return;
    for (const along of [(up + 1) % 3, (up + 2) % 3]) {
      const across = 3 - up - along;
      const round = (x, k, way) => way((x + scene.origin[k]) / grid.step) * grid.step - scene.origin[k];
      // The side that is nearer to the eye.
      const nearer = axes().back[across] < 0 ? round(ends[across][0], across, Math.floor) : round(ends[across][1], across, Math.ceil);
      let last = null;
      for (let i = -40; i <= 40; i++) {
        const at = [0, 0, 0];
        at[along] = round(ends[along][0], along, Math.floor) + (i + 40) * grid.step;
        if (at[along] > round(ends[along][1], along, Math.ceil) + grid.step / 2) break;
        [at[across], at[up]] = [nearer, heights()[0]];
        const place = seen(at);
        const isInside = place && place[0] > 20 && place[0] < canvas.clientWidth - 20 && place[1] > 10 && place[1] < canvas.clientHeight - 10;
        if (!isInside || (last && Math.hypot(place[0] - last[0], place[1] - last[1]) < 56)) continue;
        const value = Number((at[along] + scene.origin[along]).toPrecision(6));
        write(ink, last ? `${value}` : `${"xyz"[along]} ${value} ${scene.units[0]}`, ...place);
        last = place;
      }
    }
  };

  // What stands over the scene: the axes, a bar of a round length at the target, and points that were clicked.
  const drawOver = (view, ratio) => {
    const over = $("over");
    [over.width, over.height] = [canvas.width, canvas.height];
    const pen = over.getContext("2d");
    const { clientWidth: width, clientHeight: height } = canvas;
    pen.scale(ratio, ratio);
    Object.assign(pen, { font: "13px system-ui, sans-serif", lineWidth: 2, textBaseline: "middle", textAlign: "center" });
    const ink = getComputedStyle(document.body).color;
    // Lines and words have the colour of the ground around them, and can be read on points of any colour.
    const halo = state.isLight ? "#f4f6f9e6" : "#0d1017e6";
    const line = (colour, ...places) => {
      for (const [style, lineWidth] of [[halo, 6], [colour, 2]]) {
        Object.assign(pen, { strokeStyle: style, lineWidth, lineCap: "round", lineJoin: "round" });
        pen.beginPath(), places.forEach(([x, y]) => pen.lineTo(x, y)), pen.stroke();
      }
    };
    const write = (colour, words, x, y) => {
      Object.assign(pen, { strokeStyle: halo, lineWidth: 5, lineJoin: "round", fillStyle: colour });
      pen.strokeText(words, x, y), pen.fillText(words, x, y);
    };
    const seen = (p) => {
      const [u, v, w] = [0, 1, 3].map((k) => view[k] * p[0] + view[4 + k] * p[1] + view[8 + k] * p[2] + view[12 + k]);
      return w > 0 ? [(u / w / 2 + 0.5) * width, (0.5 - v / w / 2) * height] : null;
    };
    if (state.grid) nameGrid(seen, write, ink);
    const base = height - (frames > 1 ? 76 : 24);
    const { right, above } = axes();
    [["x", "#f0625a"], ["y", "#2faa5c"], ["z", "#4f8df5"]].forEach(([name, colour], k) => {
      const [dx, dy] = [34 * right[k], -34 * above[k]];
      line(colour, [48, base - 30], [48 + dx, base - 30 + dy]);
      write(colour, name, 48 + 1.25 * dx, base - 30 + 1.25 * dy);
    });
    const pixels = (FOCAL * height) / 2 / state.distance;
    const power = 10 ** Math.floor(Math.log10(150 / pixels));
    const length = [5, 2, 1].map((k) => k * power).find((metres) => metres * pixels <= 150) ?? power;
    const [from, to] = [width - 16 - length * pixels, width - 16];
    line(ink, [from, base - 5], [from, base], [to, base], [to, base - 5]);
    write(ink, `${Number(length.toPrecision(1))} ${scene.units[0]}`, (from + to) / 2, base - 14);
    const [across, along] = scene.units;
    state.picked.forEach(({ p, name }, k) => {
      if (!seen(p)) return;
      const [x, y] = seen(p);
      for (const [style, lineWidth] of [[halo, 5], [ink, 2]]) {
        Object.assign(pen, { strokeStyle: style, lineWidth });
        pen.beginPath(), pen.arc(x, y, 6, 0, 7), pen.stroke();
      }
      const digits = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(scene.radius / 10))));
      const apart = k ? `; ${Math.hypot(...p.map((x, k) => x - state.picked[0].p[k])).toFixed(digits)} ${across} apart` : "";
      const words = `${name}: ${p.map((x, k) => (x + scene.origin[k]).toFixed(digits) + (k === 2 ? ` ${along}` : k && across !== along ? ` ${across}` : "")).join(", ")}${apart}`;
      const half = pen.measureText(words).width / 2 + 6;
      const middle = Math.min(Math.max(x, half), Math.max(width - half, half));
      pen.fillStyle = state.isLight ? "#ffffffdd" : "#1e242fdd";
      pen.fillRect(middle - half, y - 32, 2 * half, 20);
      pen.fillStyle = ink;
      pen.fillText(words, middle, y - 22);
    });
  };

  let isAsked = false;
  let draws = 0;
  const draw = () => {
    if (!isAsked) requestAnimationFrame(paint);
    isAsked = true;
  };
  const paint = () => {
    isAsked = false;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.max(Math.round(canvas.clientWidth * ratio), 1);
    canvas.height = Math.max(Math.round(canvas.clientHeight * ratio), 1);
    gl.viewport(0, 0, canvas.width, canvas.height);
    document.body.className = state.isLight ? "light" : "";
    gl.clearColor(...(state.isLight ? [244, 246, 249] : scene.background).map((c) => c / 255), 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.POLYGON_OFFSET_FILL);
    const view = viewed();
    let points = 0;
    const drawLayer = (layer) => {
      const { program, at } = programs[layer.program];
      gl.useProgram(program);
      gl.uniformMatrix4fv(at.view, false, view);
      gl.uniformMatrix4fv(at.model, false, modelOf(layer));
      gl.uniform4f(at.heights_values, ...heights(), ...scene.intensities);
      gl.uniform1i(at.up, state.up);
      gl.uniform1f(at.shade, state.isLight ? 0.8 : 1);
      gl.uniform2f(at.range, ...(layer.range ?? [0, 1]));
      gl.uniform2f(at.times, ...(layer.times ?? [0, 0]));
      gl.uniform2f(at.size, canvas.width, canvas.height);
      gl.uniform1f(at.width, ratio * (layer.shape === "line" ? (isBare ? 2 : 1) * (layer.name === "truth" ? 6 : 2.5) : layer.count === 1 ? 4 * state.width : state.width));
      // An estimate lies on the truth, and is to be seen.
      gl.polygonOffset(0, layer.name === "truth" ? 256 : 0);
      gl.uniform1i(at.mode, mode(layer));
      gl.uniform1i(at.lit, layer.shape === "ball" || layer.shape === "cube");
      gl.uniform1f(at.opacity, layer.shape === "ball" ? BALL_OPACITY : 1);
      gl.bindVertexArray(layer.array);
      gl.vertexAttrib3f(1, ...(state.isLight && Math.min(...layer.colour) > 200 ? [0.1, 0.13, 0.19] : layer.colour.map((c) => c / 255)));
      if (layer.axes) layer.axes.forEach((axis, k) => gl.vertexAttrib3f(3 + k, ...axis));
      if (layer.shape === "points") gl.drawArrays(gl.POINTS, 0, layer.count);
      else if (layer.shape === "line") gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, layer.count - 1);
      else gl.drawElementsInstanced(layer.shape === "wire" ? gl.LINES : gl.TRIANGLES, layer.indices, gl.UNSIGNED_SHORT, 0, layer.count);
    };
    const visible = scene.layers.filter(isVisible);
    const balls = visible.filter((layer) => layer.shape === "ball" && !layer.is_beneath);
    visible.forEach((layer) => (points += layer.count));
    if (state.grid) {
      const { program, at } = programs.points;
      gl.useProgram(program);
      gl.uniformMatrix4fv(at.view, false, view);
      gl.uniformMatrix4fv(at.model, false, [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
      gl.uniform1i(at.mode, 0);
      gl.uniform1i(at.lit, 0);
      gl.uniform1f(at.opacity, 1);
      gl.uniform1f(at.shade, 1);
      gl.bindVertexArray(grid.array);
      gl.vertexAttrib3f(1, ...(state.isLight ? [0.8, 0.83, 0.87] : [0.17, 0.2, 0.25]));
      gl.depthMask(false);
      gl.drawArrays(gl.LINES, 0, grid.count);
      gl.depthMask(true);
    }
    // Cells beneath a scan tint none of its points.
    gl.depthMask(false);
    gl.enable(gl.BLEND);
    visible.filter((layer) => layer.is_beneath).forEach(drawLayer);
    gl.disable(gl.BLEND);
    gl.depthMask(true);
    visible.filter((layer) => layer.shape !== "ball").forEach(drawLayer);
    // What lies behind ellipsoids shows through the nearest of them: a first pass finds its depth.
    gl.colorMask(false, false, false, false);
    balls.forEach(drawLayer);
    gl.colorMask(true, true, true, true);
    gl.depthFunc(gl.LEQUAL);
    gl.enable(gl.BLEND);
    balls.forEach(drawLayer);
    gl.disable(gl.BLEND);
    gl.depthFunc(gl.LESS);
    const legend = { height: [...heights().map((z) => z + scene.origin[state.up]), ` ${scene.units[state.up === 2 ? 1 : 0]}`], intensity: [...scene.intensities, ` ${scene.values}`], time: [0, 1, ""] }[state.mode];
    $("legend").hidden = !legend;
    if (legend) [$("low").textContent, $("high").textContent] = [0, 1].map((k) => legend[k].toPrecision(3) + legend[2]);
    $("counter").textContent = frames ? `${state.frame + 1} of ${frames}` : "";
    $("label").textContent = scene.frames[state.frame] ?? "";
    const now = $("now");
    if (now) now.style.transform = `translateX(${(now.dataset.room * state.frame) / Math.max(frames - 1, 1)}px)`;
    $("follow").setAttribute("aria-pressed", state.follow);
    drawOver(view, ratio);
    keepLink();
    Object.assign(document.body.dataset, { state: "ready", ms: (document.body.dataset.ms ?? Math.round(performance.now())), frame: state.frame, draws: ++draws, points, error: gl.getError() });
  };
  // A window of another shape, such as a phone that is turned: the view that the reader did not move is fitted again.
  window.onresize = () => (!state.follow && Object.keys(fitted).every((key) => fitted[key] === state[key]) ? fit({ yaw: state.yaw, pitch: state.pitch }) : draw());
  $("slider").value = state.frame;
  $("grid").checked = state.grid;
  drawGrid();
  fit(home());
  // A drive begins to play; a name that ends in #still, and a reader who wants little motion, keep the first frame.
  if (!restore() && sensor && location.hash !== "#still" && !matchMedia("(prefers-reduced-motion: reduce)").matches) follow(true), play(true);
})();
