// Drawing edges: between stacks, back to the next loop step, and between single copies.
import { cell } from "./geometry.js";
import { stroke } from "./shapes.js";

/**
 * An edge between stacks, with the number of edges it stands for.
 * @param {import("./painting.js").Picture} p
 * @param {any} line
 * @param {number[]} points
 */
export function paintLine(p, line, points) {
  const { ctx, colors } = p;
  const joined = [line.start, line.end].includes(p.selected?.stack.number ?? -1);
  const back = line.kind === "carried";
  const color = joined ? colors.accent : back ? colors.color("control") : colors.faint;
  ctx.beginPath();
  if (back) angular(ctx, points);
  else smooth(ctx, points);
  stroke(p, color, joined ? 2 : 1.2, back ? [5, 4] : []);
  arrowHead(ctx, points, color);
  if (spreads(p, line) && p.camera.scale > 0.45) paintCount(p, line.count, points);
}

/** Whether values are gathered or given to many: one edge a copy needs no number.
 * @param {import("./painting.js").Picture} p @param {any} line */
function spreads(p, line) {
  const [start, end] = [line.start, line.end].map((i) => p.snapshot.stacks[i].nodes.length);
  return line.count > 1 && !(line.count === start && line.count === end);
}

/** @param {CanvasRenderingContext2D} ctx @param {number[]} points */
function angular(ctx, points) {
  ctx.moveTo(points[0], points[1]);
  for (let i = 2; i < points.length; i += 2) ctx.lineTo(points[i], points[i + 1]);
}

/** @param {CanvasRenderingContext2D} ctx @param {number[]} points */
function smooth(ctx, points) {
  ctx.moveTo(points[0], points[1]);
  for (let i = 2; i < points.length; i += 2) {
    const [x0, y0, x1, y1] = points.slice(i - 2, i + 2);
    const bend = (y1 - y0) / 2;
    ctx.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
  }
}

/** @param {CanvasRenderingContext2D} ctx @param {number[]} points @param {string} color */
function arrowHead(ctx, points, color) {
  const [x, y] = points.slice(-2);
  ctx.beginPath();
  ctx.moveTo(x, y);
  ctx.lineTo(x - 4, y - 7);
  ctx.lineTo(x + 4, y - 7);
  ctx.closePath();
  ctx.fillStyle = color;
  ctx.fill();
}

/** @param {import("./painting.js").Picture} p @param {number} count @param {number[]} points */
function paintCount(p, count, points) {
  const { ctx, colors } = p;
  const x = (points[0] + points[2]) / 2;
  const y = (points[1] + points[3]) / 2;
  ctx.font = `10px ${colors.font}`;
  const width = ctx.measureText(String(count)).width + 6;
  ctx.fillStyle = colors.surface;
  ctx.fillRect(x - width / 2, y - 7, width, 14);
  ctx.fillStyle = colors.text;
  ctx.globalAlpha = 0.75 * p.progress;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillText(String(count), x, y);
  ctx.globalAlpha = p.progress;
}

/**
 * Lines from the selected copy to just those copies that it reads and that use it.
 * @param {import("./painting.js").Picture} p
 */
export function paintThreads(p) {
  const node = p.selected;
  if (!node || node.stack.nodes.length < 2) return;
  const { ctx, snapshot, colors } = p;
  for (const id of [...node.operands, ...node.users]) {
    const other = snapshot.nodes[id];
    const [from, to] = node.operands.includes(id) ? [other, node] : [node, other];
    const [a, b] = [rectOf(p, from), rectOf(p, to)];
    const points = [a.x + a.width / 2, a.y + a.height, b.x + b.width / 2, b.y];
    ctx.beginPath();
    smooth(ctx, points);
    stroke(p, colors.accent, 2, []);
  }
}

/** @param {import("./painting.js").Picture} p @param {any} node */
function rectOf(p, node) {
  const grid = p.geometry.grids.get(node.stack.number);
  return grid ? cell(grid, node.stack.nodes.indexOf(node), node.stack.nodes.length) : p.geometry.places[node.stack.number];
}
