// Drawing a graph on a canvas.
import { cell } from "./geometry.js";
import { paintLine, paintThreads } from "./edges.js";
import { stroke, trace } from "./shapes.js";

/**
 * Colours and fonts, read from the page's style so that themes are followed.
 * @param {HTMLElement} element
 */
export function palette(element) {
  const style = getComputedStyle(element);
  const value = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  /** @type {Map<string, string>} */
  const known = new Map(); // reading a style is slow, and each frame asks for the same few
  const color = (/** @type {string} */ name) => {
    if (!known.has(name)) known.set(name, value(`--kx-${name}`) || value("--kx-other"));
    return /** @type {string} */ (known.get(name));
  };
  return {
    color,
    text: value("--kx-text"),
    faint: value("--kx-faint"),
    surface: value("--kx-surface"),
    accent: value("--kx-accent"),
    font: value("--kx-font"),
  };
}

/**
 * @typedef {{ctx: CanvasRenderingContext2D, snapshot: any, geometry: import("./geometry.js").Geometry,
 *   camera: import("./geometry.js").Camera, view: {width: number, height: number},
 *   colors: ReturnType<typeof palette>, families: any, differences: any,
 *   marks: Record<string, string[]>, selected: any, near: Set<number>, kin: Set<number>,
 *   found: Set<number>,
 *   focused: number, hovered: any, ratio: number, progress: number}} Picture
 */

/**
 * Draw everything.
 * @param {Picture} p
 * @returns {number} nodes and copies drawn
 */
export function paint(p) {
  const { ctx, camera, view, ratio } = p;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, view.width, view.height);
  ctx.scale(camera.scale, camera.scale);
  ctx.translate(-camera.x, -camera.y);
  for (const box of p.snapshot.boxes.values()) paintBox(p, box);
  ctx.globalAlpha = p.progress;
  p.snapshot.lines.forEach((/** @type {any} */ line, /** @type {number} */ i) => paintLine(p, line, p.geometry.lines[i]));
  ctx.globalAlpha = 1;
  paintThreads(p);
  let drawn = 0;
  for (const box of p.snapshot.boxes.values()) paintTitle(p, box);
  for (const stack of p.snapshot.stacks) drawn += p.snapshot.boxes.has(stack.number) ? 1 : paintStack(p, stack);
  return drawn;
}

/**
 * A loop: a frame with a title.
 * @param {Picture} p
 * @param {any} box
 */
function paintBox(p, box) {
  const { ctx, colors } = p;
  const stack = p.snapshot.stacks[box.stack];
  const r = p.geometry.places[box.stack];
  const color = colors.color("control");
  ctx.beginPath();
  ctx.roundRect(r.x, r.y, r.width, r.height, 12);
  ctx.globalAlpha = 0.06;
  ctx.fillStyle = color;
  ctx.fill();
  ctx.globalAlpha = 1;
  stroke(p, color, isSelected(p, stack) ? 2.5 : 1, []);
  paintMark(p, p.marks[stack.number]?.[0], r);
  if (p.focused === stack.number) focusRing(p, r);
}

/**
 * A loop's title, over the lines that enter the loop.
 * @param {Picture} p
 * @param {any} box
 */
function paintTitle(p, box) {
  const { ctx, colors } = p;
  const stack = p.snapshot.stacks[box.stack];
  const r = p.geometry.places[box.stack];
  const steps = box.steps === null ? "" : `, ${box.steps} ${box.steps === 1 ? "step" : "steps"}`;
  ctx.font = `600 12px ${colors.font}`;
  const text = clip(ctx, `${stack.symbol}  ${stack.label} over ${box.axis}${steps}`, r.width - 60);
  ctx.fillStyle = colors.surface;
  ctx.beginPath();
  ctx.roundRect(r.x + 8, r.y + 7, ctx.measureText(text).width + 12, 20, 6);
  ctx.fill();
  ctx.fillStyle = colors.color("control");
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.fillText(text, r.x + 14, r.y + 17);
}

/**
 * A node, or a stack of copies, closed or opened.
 * @param {Picture} p
 * @param {any} stack
 * @returns {number} what was drawn: 0 when out of sight
 */
function paintStack(p, stack) {
  const r = p.geometry.places[stack.number];
  if (!visible(p, r)) return 0;
  const grid = p.geometry.grids.get(stack.number);
  const shape = grid ? "round" : p.families[stack.family]?.[1] ?? "round";
  if (p.found.has(stack.number)) paintHalo(p, r);
  if (!grid && stack.nodes.length > 1) paintBehind(p, stack, r, shape);
  paintBody(p, stack, r, shape);
  if (p.camera.scale > 0.3) paintLabel(p, stack, r);
  if (stack.nodes.length > 1) paintBadge(p, stack, r);
  paintMark(p, p.marks[stack.number]?.[0], r);
  if (p.focused === stack.number) focusRing(p, r);
  return grid ? paintCells(p, stack, grid) : 1;
}

/** A broad rim around what the search found. @param {Picture} p @param {import("./geometry.js").Rect} r */
function paintHalo(p, r) {
  p.ctx.beginPath();
  p.ctx.roundRect(r.x - 4, r.y - 4, r.width + 8, r.height + 8, 11);
  p.ctx.globalAlpha = 0.45;
  stroke(p, p.colors.color("changed"), 8, []);
  p.ctx.globalAlpha = 1;
}

/** @param {Picture} p @param {import("./geometry.js").Rect} r */
function visible({ camera, view }, r) {
  const [width, height] = [view.width / camera.scale, view.height / camera.scale];
  return r.x < camera.x + width && r.x + r.width > camera.x && r.y < camera.y + height && r.y + r.height > camera.y;
}

/** @param {Picture} p @param {any} stack @param {import("./geometry.js").Rect} r @param {string} shape */
function paintBehind(p, stack, r, shape) {
  for (const by of stack.nodes.length > 2 ? [6, 3] : [3]) {
    trace(p.ctx, shape, { ...r, x: r.x + by, y: r.y + by });
    p.ctx.fillStyle = p.colors.surface;
    p.ctx.fill();
    stroke(p, p.colors.color(stack.family), 0.8, []);
  }
}

/** @param {Picture} p @param {any} stack @param {import("./geometry.js").Rect} r @param {string} shape */
function paintBody(p, stack, r, shape) {
  const { ctx, colors } = p;
  const color = colors.color(stack.family);
  const chosen = isSelected(p, stack);
  trace(ctx, shape, r);
  ctx.fillStyle = colors.surface;
  ctx.fill();
  ctx.globalAlpha = 0.1;
  ctx.fillStyle = chosen ? colors.accent : color;
  ctx.fill();
  ctx.globalAlpha = 1;
  const near = p.near.has(stack.number) || p.kin.has(stack.number);
  stroke(p, chosen || near ? colors.accent : color, chosen ? 2.5 : near ? 1.8 : 1.2, p.kin.has(stack.number) && !chosen ? [4, 3] : []);
}

/** @param {Picture} p @param {any} stack @param {import("./geometry.js").Rect} r */
function paintLabel(p, stack, r) {
  const { ctx, colors } = p;
  const room = r.width - 54 - (stack.nodes.length > 1 ? 18 : 0);
  ctx.textBaseline = "middle";
  ctx.textAlign = "center";
  ctx.fillStyle = colors.color(stack.family);
  ctx.font = `600 15px ${colors.font}`;
  ctx.fillText(stack.symbol, r.x + 23, r.y + 22, 28);
  ctx.textAlign = "left";
  ctx.fillStyle = colors.text;
  ctx.font = `600 12px ${colors.font}`;
  ctx.fillText(clip(ctx, stack.label, room), r.x + 42, r.y + 15);
  ctx.font = `11px ${colors.font}`;
  ctx.globalAlpha = 0.7;
  ctx.fillText(clip(ctx, caption(stack), room), r.x + 42, r.y + 30);
  ctx.globalAlpha = 1;
}

/**
 * The second line of a node: its type, an offset or a constant's value.
 * @param {any} stack
 */
export function caption(stack) {
  const extra = stack.attrs.offset ?? shortNumber(stack.attrs.value);
  const type = stack.type.replace("memory ", "");
  return [type, extra].filter(Boolean).join(" · ") || stack.op;
}

/** `-1e+6` for `-1000000.0`; what is no number stays. @param {string|undefined} text */
function shortNumber(text) {
  const value = Number(text);
  if (!text || !Number.isFinite(value)) return text;
  const short = Number(value.toPrecision(4));
  return String(short).length > 7 ? short.toExponential() : String(short);
}

/** @param {Picture} p @param {any} stack @param {import("./geometry.js").Rect} r */
function paintBadge(p, stack, r) {
  const { ctx, colors } = p;
  const text = `×${stack.nodes.length}`;
  ctx.font = `600 11px ${colors.font}`;
  const width = ctx.measureText(text).width + 10;
  const x = r.x + r.width - width - 8;
  ctx.beginPath();
  ctx.roundRect(x, r.y + 6, width, 16, 8);
  ctx.fillStyle = colors.color(stack.family);
  ctx.fill();
  ctx.fillStyle = colors.surface;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillText(text, x + width / 2, r.y + 14.5);
}

/**
 * The sign of a difference on the upper left corner, with an outline in its own line style.
 * @param {Picture} p
 * @param {string|undefined} kind
 * @param {import("./geometry.js").Rect} r
 */
function paintMark(p, kind, r) {
  if (!kind) return;
  const { ctx, colors } = p;
  const color = colors.color(kind);
  const style = { added: [], changed: [1.5, 3.5], removed: [7, 4] }[kind] ?? [];
  if (kind !== "copied") {
    ctx.beginPath();
    ctx.roundRect(r.x - 5, r.y - 5, r.width + 10, r.height + 10, 10);
    stroke(p, color, kind === "added" ? 2 : 1.4, style);
  }
  ctx.beginPath();
  ctx.arc(r.x - 3, r.y - 3, 8.5, 0, 7);
  ctx.fillStyle = color;
  ctx.fill();
  ctx.fillStyle = colors.surface;
  ctx.font = `700 13px ${colors.font}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillText(p.differences[kind][0], r.x - 3, r.y - 2.5);
}

/** The copies of an opened stack: all cells in one path, then those that stand out, then texts.
 * @param {Picture} p @param {any} stack @param {import("./geometry.js").Grid} grid */
function paintCells(p, stack, grid) {
  const { ctx, colors, selected } = p;
  const cells = stack.nodes.map((/** @type {any} */ _, /** @type {number} */ i) => cell(grid, i, stack.nodes.length));
  const near = new Set(selected ? [...selected.operands, ...selected.users] : []);
  const fillCells = (/** @type {(node: any) => boolean} */ which, /** @type {string} */ color, /** @type {number} */ alpha) => {
    ctx.beginPath();
    stack.nodes.forEach((/** @type {any} */ node, /** @type {number} */ i) => {
      if (which(node)) ctx.rect(cells[i].x + 1.5, cells[i].y + 1.5, cells[i].width - 3, cells[i].height - 3);
    });
    ctx.globalAlpha = alpha;
    ctx.fillStyle = color;
    ctx.fill();
    ctx.globalAlpha = 1;
  };
  fillCells(() => true, colors.color(stack.family), 0.16);
  fillCells((node) => node === p.hovered, colors.color(stack.family), 0.25);
  fillCells((node) => near.has(node.id), colors.accent, 0.5);
  fillCells((node) => node === selected, colors.accent, 1);
  if (p.camera.scale > 0.4) paintCellTexts(p, stack, cells, labelDims(stack, grid));
  return stack.nodes.length;
}

/** @param {Picture} p @param {any} stack @param {import("./geometry.js").Rect[]} cells @param {string[]} dims */
function paintCellTexts(p, stack, cells, dims) {
  const { ctx, colors } = p;
  ctx.font = `10px ${colors.font}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  stack.nodes.forEach((/** @type {any} */ node, /** @type {number} */ i) => {
    const c = cells[i];
    if (!visible(p, c)) return;
    ctx.fillStyle = p.selected === node ? colors.surface : colors.text;
    ctx.fillText(dims.map((d) => node.copy[d]).join(","), c.x + c.width / 2, c.y + c.height / 2);
  });
}

/** @param {any} stack @param {import("./geometry.js").Grid} grid */
function labelDims(stack, grid) {
  return grid.rect.width / grid.columns > 26 || stack.dims.length < 2 ? stack.dims : stack.dims.slice(-1);
}

/** @param {Picture} p @param {any} stack */
function isSelected(p, stack) {
  return p.selected?.stack === stack;
}

/** @param {Picture} p @param {import("./geometry.js").Rect} r */
function focusRing(p, r) {
  p.ctx.beginPath();
  p.ctx.roundRect(r.x - 8, r.y - 8, r.width + 16, r.height + 16, 12);
  stroke(p, p.colors.accent, 2, [2, 2]);
}

/**
 * A text cut to a width, with an ellipsis.
 * @param {CanvasRenderingContext2D} ctx
 * @param {string} text
 * @param {number} width
 */
function clip(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && ctx.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
  return `${text.slice(0, end)}…`;
}
