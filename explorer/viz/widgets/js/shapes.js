// Outlines of op families: they can be told apart without colour.

/**
 * Points of a polygon for a shape, or null for a rounded rectangle.
 * @param {string} shape
 * @param {import("./geometry.js").Rect} r
 * @returns {number[][]|null}
 */
export function outline(shape, { x, y, width: w, height: h }) {
  const [right, bottom, middle, cut] = [x + w, y + h, y + h / 2, Math.min(12, h / 3)];
  switch (shape) {
    case "slant":
      return [[x + cut, y], [right, y], [right - cut, bottom], [x, bottom]];
    case "funnel":
      return [[x, y], [right, y], [right - cut, bottom], [x + cut, bottom]];
    case "hexagon":
      return [[x + cut, y], [right - cut, y], [right, middle], [right - cut, bottom], [x + cut, bottom], [x, middle]];
    case "arrow":
      return [[x, y], [right - cut, y], [right, middle], [right - cut, bottom], [x, bottom]];
    case "tab":
      return [[x, y], [right - cut, y], [right, y + cut], [right, bottom], [x, bottom]];
    default:
      return null;
  }
}

/**
 * Trace the outline of a shape on a canvas.
 * @param {CanvasRenderingContext2D} ctx
 * @param {string} shape
 * @param {import("./geometry.js").Rect} r
 */
export function trace(ctx, shape, r) {
  const points = outline(shape, r);
  ctx.beginPath();
  if (points) {
    points.forEach(([x, y], i) => (i ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
    ctx.closePath();
    return;
  }
  ctx.roundRect(r.x, r.y, r.width, r.height, shape === "pill" ? r.height / 2 : shape === "bars" ? 0 : 7);
  if (shape === "bars") {
    for (const at of [r.x + 5, r.x + r.width - 5]) {
      ctx.moveTo(at, r.y);
      ctx.lineTo(at, r.y + r.height);
    }
  }
}

/**
 * Stroke the outline traced last.
 * @param {{ctx: CanvasRenderingContext2D}} p
 * @param {string} color
 * @param {number} width
 * @param {number[]} dashes
 */
export function stroke(p, color, width, dashes) {
  p.ctx.strokeStyle = color;
  p.ctx.lineWidth = width;
  p.ctx.setLineDash(dashes);
  p.ctx.stroke();
  p.ctx.setLineDash([]);
}
