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
  if (!window.DecompressionStream) return fail("This page needs Chrome 80, Firefox 113, Safari 16.4, or a later version.");

  // --- Arrays.

  const text = atob($("arrays").textContent);
  $("arrays").remove();
  const packed = Uint8Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));
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
    uniform float width; uniform int mode; uniform sampler2D palette;
    out vec3 colour; out vec3 world;
    vec3 paint(float z, float value, int index) {
      float t = (z - heights_values.x) / (heights_values.y - heights_values.x);
      if (mode == 2) t = (mix(range.x, range.y, value) - heights_values.z) / (heights_values.w - heights_values.z);
      if (mode == 3) t = times.x + times.y * float(index);
      return mode == 0 ? own : texture(palette, vec2(clamp(t, 0.01, 0.99), 0.5)).rgb;
    }`;
  const sources = {
    points: `void main() {
      vec4 p = model * vec4(at.xyz, 1.0);
      world = p.xyz; colour = paint(p.z, at.w, gl_VertexID);
      gl_Position = view * p; gl_PointSize = width;
    }`,
    // A segment is a strip of two triangles, as wide everywhere.
    line: `layout(location = 2) in vec4 next;
    void main() {
      vec4 from = model * vec4(at.xyz, 1.0), to = model * vec4(next.xyz, 1.0);
      bool second = gl_VertexID % 2 == 1;
      world = second ? to.xyz : from.xyz; colour = paint(world.z, at.w, gl_InstanceID);
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
      colour = paint(middle.z, at.w, gl_InstanceID);
      gl_Position = view * vec4(world, 1.0);
    }`,
  };
  // Faces are lit by their normal, which follows from the neighbours of a pixel.
  const fragment = `#version 300 es
    precision highp float;
    in vec3 colour; in vec3 world; uniform bool lit; uniform float opacity; out vec4 pixel;
    void main() {
      float light = 1.0;
      if (lit) light = 0.55 + 0.45 * abs(dot(normalize(cross(dFdx(world), dFdy(world))), vec3(0.36, 0.48, 0.8)));
      pixel = vec4(colour * light, opacity);
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
    const uniforms = ["model", "view", "heights_values", "range", "times", "size", "width", "mode", "lit", "opacity"];
    programs[name] = { program, at: Object.fromEntries(uniforms.map((u) => [u, gl.getUniformLocation(program, u)])) };
  }

  const stops = scene.palette.match(/../g).map((hex) => parseInt(hex, 16));
  gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
  gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB8, stops.length / 3, 1, 0, gl.RGB, gl.UNSIGNED_BYTE, Uint8Array.from(stops));
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
  for (const axis of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, axis, gl.CLAMP_TO_EDGE);

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

  for (const layer of scene.layers) {
    const n = layer.count;
    const solid = solids[layer.shape];
    layer.program = solid ? "solids" : layer.shape;
    layer.array = gl.createVertexArray();
    gl.bindVertexArray(layer.array);
    const each = layer.shape === "points" ? 0 : 1;
    buffer(positions(n, layer.range !== null));
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
  gl.bindVertexArray(null);
  gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE);

  // --- Controls.

  const state = { frame: 0, isPlaying: false, keep: false, hidden: new Set(), mode: scene.paint, width: 2, yaw: -Math.PI / 2, pitch: 0.9, distance: 2.4 * scene.radius, target: [0, 0, 0] };
  const modes = ["own", "height", "intensity", "time"];
  const can = {
    own: scene.layers.some((layer) => layer.has_colours || layer.is_coloured),
    height: true,
    intensity: scene.layers.some((layer) => layer.range !== null),
    time: scene.layers.some((layer) => layer.times !== null),
  };
  for (const mode of modes.filter((mode) => can[mode] || mode === scene.paint)) $("paint").add(new Option(mode === "own" ? "layer" : mode, mode));
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
  $("size").oninput = () => ((state.width = Number($("size").value)), draw());

  const show = (frame) => {
    state.frame = Math.min(Math.max(frame, 0), Math.max(frames - 1, 0));
    $("slider").value = state.frame;
    draw();
  };
  const play = (isPlaying) => {
    state.isPlaying = isPlaying;
    $("play").textContent = isPlaying ? "Pause" : "Play";
    if (!isPlaying) return;
    // A slow machine takes longer and leaves no frame out.
    let last = performance.now();
    const tick = (now) => {
      if (!state.isPlaying) return;
      if (now - last >= scene.frame_ms) {
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
    if (event.target.tagName === "SELECT") return;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === " " && event.target.tagName !== "BUTTON") play(frames > 1 && !state.isPlaying);
    else if (step && event.target !== $("slider")) play(false), show(state.frame + step);
    else return;
    event.preventDefault();
  };

  const fingers = new Map();
  canvas.onpointerdown = (event) => (canvas.setPointerCapture(event.pointerId), fingers.set(event.pointerId, event));
  canvas.onpointerup = canvas.onpointercancel = (event) => fingers.delete(event.pointerId);
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
      const metres = (state.distance * 0.83) / canvas.clientHeight / (other ? 2 : 1);
      const { right, above } = axes();
      state.target = state.target.map((x, k) => x - metres * (right[k] * dx - above[k] * dy));
    } else {
      state.yaw -= 0.006 * dx;
      state.pitch = Math.min(Math.max(state.pitch + 0.006 * dy, -Math.PI / 2), Math.PI / 2);
    }
    fingers.set(event.pointerId, event);
    draw();
  };

  // --- Drawing.

  // The eye is at `back` from the target. `above` is up in the image.
  const axes = () => {
    const [cy, sy, cp, sp] = [Math.cos(state.yaw), Math.sin(state.yaw), Math.cos(state.pitch), Math.sin(state.pitch)];
    return { right: [-sy, cy, 0], above: [-cy * sp, -sy * sp, cp], back: [cy * cp, sy * cp, sp] };
  };
  const viewed = () => {
    const { right, above, back } = axes();
    const [near, far] = [state.distance / 500, state.distance + 20 * scene.radius];
    const focal = 2.4;
    const rows = [right, above, back].map((axis) => [...axis, -axis.reduce((sum, x, k) => sum + x * state.target[k], 0)]);
    rows[2][3] -= state.distance;
    const [x, y, z] = rows;
    const depth = [(far + near) / (near - far), (2 * far * near) / (near - far)];
    const out = new Float32Array(16);
    for (let c = 0; c < 4; c++) {
      out[4 * c] = (x[c] * focal * canvas.height) / canvas.width;
      out[4 * c + 1] = y[c] * focal;
      out[4 * c + 2] = z[c] * depth[0] + (c === 3 ? depth[1] : 0);
      out[4 * c + 3] = -z[c];
    }
    return out;
  };
  // A layer without what a mode shows has its own colour, and so have lines and edges, except that lines have times.
  const mode = (layer) => {
    const flat = layer.shape === "line" || layer.shape === "wire";
    const has = { own: true, height: !flat, intensity: layer.range !== null, time: layer.times !== null };
    return has[state.mode] ? modes.indexOf(state.mode) : 0;
  };
  const isVisible = (layer) =>
    !state.hidden.has(layer.name) && layer.count > 0 && (layer.at === null || layer.at === state.frame || (state.keep && layer.at < state.frame));

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
    gl.clearColor(...scene.background.map((c) => c / 255), 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    const view = viewed();
    let points = 0;
    const drawLayer = (layer) => {
      const { program, at } = programs[layer.program];
      gl.useProgram(program);
      gl.uniformMatrix4fv(at.view, false, view);
      gl.uniformMatrix4fv(at.model, false, layer.models[layer.poses > 1 ? Math.min(state.frame, layer.poses - 1) : 0]);
      gl.uniform4f(at.heights_values, ...scene.heights, ...scene.intensities);
      gl.uniform2f(at.range, ...(layer.range ?? [0, 1]));
      gl.uniform2f(at.times, ...(layer.times ?? [0, 0]));
      gl.uniform2f(at.size, canvas.width, canvas.height);
      gl.uniform1f(at.width, ratio * (layer.shape === "line" ? 2.5 : layer.count === 1 ? 4 * state.width : state.width));
      gl.uniform1i(at.mode, mode(layer));
      gl.uniform1i(at.lit, layer.shape === "ball" || layer.shape === "cube");
      gl.uniform1f(at.opacity, layer.shape === "ball" ? BALL_OPACITY : 1);
      gl.bindVertexArray(layer.array);
      gl.vertexAttrib3f(1, ...layer.colour.map((c) => c / 255));
      if (layer.axes) layer.axes.forEach((axis, k) => gl.vertexAttrib3f(3 + k, ...axis));
      if (layer.shape === "points") gl.drawArrays(gl.POINTS, 0, layer.count);
      else if (layer.shape === "line") gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, layer.count - 1);
      else gl.drawElementsInstanced(layer.shape === "wire" ? gl.LINES : gl.TRIANGLES, layer.indices, gl.UNSIGNED_SHORT, 0, layer.count);
    };
    const visible = scene.layers.filter(isVisible);
    const balls = visible.filter((layer) => layer.shape === "ball");
    visible.forEach((layer) => (points += layer.count));
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
    const legend = { height: [...scene.heights.map((z) => z + scene.origin[2]), " m"], intensity: [...scene.intensities, ""], time: [0, 1, ""] }[state.mode];
    $("legend").hidden = !legend;
    if (legend) [$("low").textContent, $("high").textContent] = [0, 1].map((k) => legend[k].toPrecision(3) + legend[2]);
    $("counter").textContent = frames ? `${state.frame + 1} of ${frames}` : "";
    $("label").textContent = scene.frames[state.frame] ?? "";
    Object.assign(document.body.dataset, { state: "ready", frame: state.frame, draws: ++draws, points, error: gl.getError() });
  };
  $("ramp").style.background = `linear-gradient(90deg,${scene.palette.match(/.{6}/g).map((hex) => "#" + hex)})`;
  window.onresize = draw;
  draw();
})();
