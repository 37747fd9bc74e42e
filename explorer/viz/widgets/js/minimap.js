// A small picture of the whole graph with the part in view, where the graph is larger than the pane.
import { h } from "./dom.js";
import { around, exceeds, overview } from "./geometry.js";

const SIZE = { width: 150, height: 110 };

export class Minimap {
  /** @param {any} shared the camera that the panes share */
  constructor(shared) {
    this.shared = shared;
    this.canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { class: "kx-minimap", "aria-hidden": "true", hidden: true }));
    this.camera = { x: 0, y: 0, scale: 1 };
    this.canvas.addEventListener("pointerdown", (e) => {
      this.canvas.setPointerCapture(e.pointerId);
      this.move(e);
    });
    this.canvas.addEventListener("pointermove", (e) => (e.buttons ? this.move(e) : null));
  }

  /** Bring the point under the pointer to the middle of the panes. @param {PointerEvent} e */
  move(e) {
    const { x, y, scale } = this.camera;
    this.shared.centre({ x: e.offsetX / scale + x, y: e.offsetY / scale + y });
  }

  /** @param {import("./painting.js").Picture} p @param {boolean} wanted */
  draw(p, wanted) {
    const bounds = around(p.geometry.places);
    this.canvas.hidden = !wanted || !exceeds(bounds, p.camera, p.view);
    if (this.canvas.hidden) return;
    this.camera = overview(bounds, SIZE);
    this.canvas.width = SIZE.width * p.ratio;
    this.canvas.height = SIZE.height * p.ratio;
    const ctx = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    const scale = this.camera.scale * p.ratio;
    ctx.setTransform(scale, 0, 0, scale, -this.camera.x * scale, -this.camera.y * scale);
    for (const stack of p.snapshot.stacks) this.block(ctx, p, stack);
    this.frame(ctx, p);
  }

  /** @param {CanvasRenderingContext2D} ctx @param {import("./painting.js").Picture} p @param {any} stack */
  block(ctx, p, stack) {
    const r = p.geometry.places[stack.number];
    const lit = p.selected?.stack === stack || p.found.has(stack.number);
    ctx.globalAlpha = p.snapshot.boxes.has(stack.number) ? 0.15 : lit ? 1 : 0.55;
    ctx.fillStyle = lit ? p.colors.accent : p.colors.color(stack.family);
    ctx.fillRect(r.x, r.y, r.width, r.height);
    ctx.globalAlpha = 1;
  }

  /** @param {CanvasRenderingContext2D} ctx @param {import("./painting.js").Picture} p */
  frame(ctx, { camera, view, colors }) {
    ctx.strokeStyle = colors.accent;
    ctx.lineWidth = 1.5 / this.camera.scale;
    ctx.strokeRect(camera.x, camera.y, view.width / camera.scale, view.height / camera.scale);
  }
}
