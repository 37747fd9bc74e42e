// Rectangles, lines and the camera: numbers only, no drawing.

/**
 * @typedef {{x: number, y: number, width: number, height: number}} Rect
 * @typedef {{x: number, y: number, scale: number}} Camera screen = (world - x, y) * scale
 * @typedef {{rect: Rect, columns: number}} Grid
 * @typedef {{places: Rect[], lines: number[][], grids: Map<number, Grid>}} Geometry
 */

const READABLE = 0.52;
const HEADER = 42;
const PAD = 8;
const ROOM = 24;
const CELL_HEIGHT = 20;
const CAPTION = 26; // the pane's title lies over the picture's upper edge
const EDGE = 12;

/**
 * Columns of the grid that shows the copies of an opened stack: the last dim where it fits.
 * @param {{dims: string[], nodes: {copy: Record<string, number>}[]}} stack
 */
export function columnsOf(stack) {
  const last = stack.dims[stack.dims.length - 1];
  const along = new Set(stack.nodes.map((n) => n.copy[last])).size;
  if (stack.dims.length > 1 && along <= 16) return along;
  return stack.nodes.length <= 8 ? stack.nodes.length : stack.nodes.length <= 64 ? 8 : 16;
}

/**
 * Size of an opened stack.
 * @param {any} stack
 * @returns {{width: number, height: number, columns: number}}
 */
export function openedSize(stack) {
  const columns = columnsOf(stack);
  const cell = columns <= 4 ? 34 : 28;
  const rows = Math.ceil(stack.nodes.length / columns);
  return {
    width: Math.max(stack.place[2], columns * cell + 2 * PAD),
    height: HEADER + rows * CELL_HEIGHT + PAD,
    columns,
  };
}

/**
 * Where everything stands when some stacks are opened: rows below move down, what is in the way
 * moves aside, and nothing else moves.
 * @param {any} snapshot
 * @param {Set<string>} opened keys of stacks
 * @returns {Geometry}
 */
export function arrange(snapshot, opened) {
  const places = snapshot.stacks.map((/** @type {any} */ s) => rect(s.place));
  const lines = snapshot.lines.map((/** @type {any} */ l) => l.points.slice());
  const open = snapshot.stacks.filter((/** @type {any} */ s) => opened.has(s.key) && s.nodes.length > 1);
  const scene = { places, lines, boxes: new Set(snapshot.boxes.keys()) };
  for (const row of rowsOf(open, places)) growRow(scene, row);
  const grids = new Map();
  for (const stack of open) {
    const size = openedSize(stack);
    places[stack.number].height = size.height;
    growAside(scene, stack.number, size.width);
    grids.set(stack.number, { rect: places[stack.number], columns: size.columns });
  }
  anchor(snapshot.lines, lines, places);
  return { places, lines, grids };
}

/**
 * Join lines again to the lower side of their start and the upper side of their end.
 * @param {any[]} rows
 * @param {number[][]} lines
 * @param {Rect[]} places
 */
function anchor(rows, lines, places) {
  rows.forEach((row, i) => {
    const start = places[row.start];
    lines[i][1] = start.y + start.height;
    lines[i][lines[i].length - 1] = places[row.end].y;
  });
}

/** @param {number[]} place */
function rect([x, y, width, height]) {
  return { x, y, width, height };
}

/**
 * Opened stacks with the same top, lowest row first so that earlier tops stay valid.
 * @param {any[]} open
 * @param {Rect[]} places
 */
function rowsOf(open, places) {
  /** @type {Map<number, any[]>} */
  const rows = new Map();
  for (const stack of open) {
    const top = places[stack.number].y;
    rows.set(top, [...(rows.get(top) ?? []), stack]);
  }
  return [...rows.entries()].sort((a, b) => b[0] - a[0]).map(([, row]) => row);
}

/**
 * Make the row of some stacks as high as the highest of them needs.
 * @param {{places: Rect[], lines: number[][], boxes: Set<number>}} scene
 * @param {any[]} row
 */
function growRow(scene, row) {
  const { y, height } = scene.places[row[0].number];
  const more = Math.max(...row.map((s) => openedSize(s).height)) - height;
  const ramp = (/** @type {number} */ at) => more * clamp((at - y) / height);
  scene.places.forEach((place, i) => {
    const bottom = place.y + place.height;
    if (scene.boxes.has(i)) place.height = bottom + ramp(bottom) - place.y - ramp(place.y);
    place.y += ramp(place.y);
  });
  for (const line of scene.lines) for (let i = 1; i < line.length; i += 2) line[i] += ramp(line[i]);
}

/**
 * Widen one stack around its middle and move aside what stands in its way.
 * @param {{places: Rect[], lines: number[][], boxes: Set<number>}} scene
 * @param {number} number
 * @param {number} width
 */
function growAside(scene, number, width) {
  const own = scene.places[number];
  const middle = own.x + own.width / 2;
  const free = freeAround(scene, number, middle);
  const left = Math.max(0, width / 2 + ROOM - free.left);
  const right = Math.max(0, width / 2 + ROOM - free.right);
  const half = own.width / 2;
  const ramp = (/** @type {number} */ x) =>
    x < middle ? -left * clamp((middle - x) / half) : right * clamp((x - middle) / half);
  scene.places.forEach((place, i) => {
    const end = place.x + place.width;
    const by = ramp(place.x + place.width / 2);
    if (scene.boxes.has(i)) {
      place.width = end + ramp(end) - place.x - ramp(place.x);
      place.x += ramp(place.x);
    } else if (i !== number) {
      place.x += by;
    }
  });
  for (const line of scene.lines) for (let i = 0; i < line.length; i += 2) line[i] += ramp(line[i]);
  own.x = middle - width / 2;
  own.width = width;
}

/**
 * Free width on both sides of a stack's middle, up to its neighbours or the border around it.
 * @param {{places: Rect[], boxes: Set<number>}} scene
 * @param {number} number
 * @param {number} middle
 */
function freeAround(scene, number, middle) {
  const own = scene.places[number];
  const free = { left: Infinity, right: Infinity };
  scene.places.forEach((other, i) => {
    if (i === number || other.y >= own.y + own.height || other.y + other.height <= own.y) return;
    const inside = scene.boxes.has(i) && other.x <= own.x && own.x + own.width <= other.x + other.width;
    const [near, far] = inside ? [other.x, other.x + other.width] : [other.x + other.width, other.x];
    if (near <= middle) free.left = Math.min(free.left, middle - near);
    if (far >= middle) free.right = Math.min(free.right, far - middle);
  });
  return free;
}

/** @param {number} value */
function clamp(value) {
  return Math.max(0, Math.min(1, value));
}

/**
 * The rectangle of one copy in an opened stack.
 * @param {Grid} grid
 * @param {number} at
 * @param {number} count
 * @returns {Rect}
 */
export function cell(grid, at, count) {
  const width = (grid.rect.width - 2 * PAD) / grid.columns;
  const rows = Math.ceil(count / grid.columns);
  const height = (grid.rect.height - HEADER - PAD) / rows;
  const [row, column] = [Math.floor(at / grid.columns), at % grid.columns];
  return { x: grid.rect.x + PAD + column * width, y: grid.rect.y + HEADER + row * height, width, height };
}

/**
 * What lies at a point: a copy before its stack, a node before the loop around it.
 * @param {any} snapshot
 * @param {Geometry} geometry
 * @param {number} x
 * @param {number} y
 * @returns {{stack: any, node: any}|null}
 */
export function hit(snapshot, geometry, x, y) {
  const found = snapshot.stacks.filter((/** @type {any} */ s) => contains(geometry.places[s.number], x, y));
  if (!found.length) return null;
  const stack = found.reduce((/** @type {any} */ a, /** @type {any} */ b) =>
    area(geometry.places[a.number]) <= area(geometry.places[b.number]) ? a : b);
  const grid = geometry.grids.get(stack.number);
  const at = grid
    ? stack.nodes.findIndex((/** @type {any} */ _, /** @type {number} */ i) => contains(cell(grid, i, stack.nodes.length), x, y))
    : 0;
  return { stack, node: at >= 0 ? stack.nodes[at] : null };
}

/** @param {Rect} r @param {number} x @param {number} y */
export function contains(r, x, y) {
  return x >= r.x && x <= r.x + r.width && y >= r.y && y <= r.y + r.height;
}

/** @param {Rect} r */
function area(r) {
  return r.width * r.height;
}

/**
 * The smallest rectangle around some others.
 * @param {Rect[]} rects
 * @returns {Rect}
 */
export function around(rects) {
  if (!rects.length) return { x: 0, y: 0, width: 1, height: 1 };
  const x = Math.min(...rects.map((r) => r.x));
  const y = Math.min(...rects.map((r) => r.y));
  const right = Math.max(...rects.map((r) => r.x + r.width));
  const bottom = Math.max(...rects.map((r) => r.y + r.height));
  return { x, y, width: right - x, height: bottom - y };
}

/**
 * The camera that shows a rectangle whole, no larger than life.
 * @param {Rect} bounds
 * @param {{width: number, height: number}} view
 * @returns {Camera}
 */
export function fit(bounds, view) {
  const margin = 24;
  const room = { width: view.width, height: view.height - CAPTION };
  const scale = Math.max(0.02, Math.min((room.width - margin) / bounds.width, (room.height - margin) / bounds.height, 1));
  const camera = centred(bounds, room, scale);
  return { ...camera, y: camera.y - CAPTION / scale };
}

/**
 * The camera to start with: everything if it can be read then, else the full width if that can,
 * else what is marked.
 * @param {Rect} bounds
 * @param {Rect|null} marked
 * @param {{width: number, height: number}} view
 */
export function startCamera(bounds, marked, view) {
  const whole = fit(bounds, view);
  if (whole.scale >= READABLE) return whole;
  const target = marked ?? bounds;
  const wide = fit({ ...bounds, height: 1 }, view).scale;
  const camera = centred(target, view, Math.max(READABLE, wide));
  camera.x = wide >= READABLE ? centred(bounds, view, camera.scale).x : aligned(bounds, target, view, camera);
  const tall = target.height * camera.scale > view.height - CAPTION;
  return tall ? { ...camera, y: target.y - 36 / camera.scale } : camera;
}

/**
 * Left side of a view that is narrower than everything: the left edge if what is marked can be seen
 * from there, else as near to the middle of what is marked as the edges allow.
 * @param {Rect} bounds
 * @param {Rect} target
 * @param {{width: number, height: number}} view
 * @param {Camera} camera
 */
function aligned(bounds, target, view, { x, scale }) {
  const [edge, width] = [EDGE / scale, view.width / scale];
  const left = bounds.x - edge;
  if (target === bounds || target.x + target.width <= left + width) return left;
  return Math.max(left, Math.min(x, bounds.x + bounds.width + edge - width));
}

/**
 * @param {Rect} bounds
 * @param {{width: number, height: number}} view
 * @param {number} scale
 * @returns {Camera}
 */
function centred(bounds, view, scale) {
  return {
    x: bounds.x + bounds.width / 2 - view.width / 2 / scale,
    y: bounds.y + bounds.height / 2 - view.height / 2 / scale,
    scale,
  };
}

/**
 * Whether a part of a rectangle lies outside of the view.
 * @param {Rect} bounds
 * @param {Camera} camera
 * @param {{width: number, height: number}} view
 */
export function exceeds(bounds, camera, view) {
  const [width, height] = [view.width / camera.scale, view.height / camera.scale];
  return bounds.x < camera.x || bounds.y < camera.y
    || bounds.x + bounds.width > camera.x + width || bounds.y + bounds.height > camera.y + height;
}

/**
 * The camera that shows a rectangle whole and as large as it can be.
 * @param {Rect} bounds
 * @param {{width: number, height: number}} view
 */
export function overview(bounds, view) {
  const margin = 6;
  const scale = Math.min((view.width - margin) / bounds.width, (view.height - margin) / bounds.height);
  return centred(bounds, view, scale);
}

/**
 * The camera that shows a rectangle: the same if it does already, else one with it in the middle.
 * @param {Rect} target
 * @param {Camera} camera
 * @param {{width: number, height: number}} view
 */
export function revealing(target, camera, view) {
  return exceeds(target, camera, view) ? centred(target, view, camera.scale) : camera;
}

/**
 * Zoom so that the point under the pointer stays there.
 * @param {Camera} camera
 * @param {number} factor
 * @param {{x: number, y: number}} at in screen pixels
 * @returns {Camera}
 */
export function zoomed(camera, factor, at) {
  const scale = Math.max(0.03, Math.min(4, camera.scale * factor));
  return { x: camera.x + at.x / camera.scale - at.x / scale, y: camera.y + at.y / camera.scale - at.y / scale, scale };
}

/**
 * Between two rectangles, `t` from 0 to 1.
 * @param {Rect} a
 * @param {Rect} b
 * @param {number} t
 * @returns {Rect}
 */
export function between(a, b, t) {
  const mix = (/** @type {number} */ p, /** @type {number} */ q) => p + (q - p) * t;
  return { x: mix(a.x, b.x), y: mix(a.y, b.y), width: mix(a.width, b.width), height: mix(a.height, b.height) };
}
