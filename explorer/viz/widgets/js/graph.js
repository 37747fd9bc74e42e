// One graph: a canvas that draws, and a hidden list of buttons that says the same.
import { fill, h } from "./dom.js";
import { birth } from "./data.js";
import { around, arrange, between, fit, hit, revealing, startCamera, zoomed } from "./geometry.js";
import { Minimap } from "./minimap.js";
import { paint, palette } from "./painting.js";

const MOVE_MS = 220;
const MOST_LISTED = 300;

/**
 * A pane that shows one snapshot.
 *
 * `shared` is one object for all panes of a viewer: `camera` (null: choose one), `panes`, and what
 * to call on `select(node)`, `toggle(stack)`.
 */
export class GraphPane {
  /**
   * @param {string} title
   * @param {any} shared
   */
  constructor(title, shared) {
    this.shared = shared;
    this.canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { "aria-hidden": "true", class: "kx-canvas" }));
    this.list = h("ul", { class: "kx-mirror" });
    this.title = h("span", { class: "kx-pane-title", text: title });
    this.empty = h("p", { class: "kx-empty", text: "Nothing yet: this is the first pass." });
    this.minimap = new Minimap(shared);
    this.element = h("section", { class: "kx-pane" }, this.title, this.canvas, this.minimap.canvas, this.empty, this.list);
    this.scene = /** @type {any} */ (null);
    this.geometry = /** @type {any} */ (null);
    this.places = new Map();
    this.before = this.places;
    this.started = -Infinity;
    this.focused = -1;
    this.hovered = null;
    this.frame = 0;
    this.listen();
  }

  /**
   * Show a snapshot; what was shown before moves to its new place.
   * @param {{snapshot: any, marks: any, title: string, families: any, differences: any,
   *   opened: Set<string>, selected: any, found: Set<any>}} scene
   */
  show(scene) {
    const changed = scene.snapshot !== this.scene?.snapshot;
    this.scene = scene;
    this.title.textContent = scene.title;
    this.geometry = arrange(scene.snapshot, scene.opened);
    this.empty.hidden = scene.snapshot.stacks.length > 0;
    this.mirror();
    this.moveFrom(this.places, changed);
  }

  /** @param {Map<string, any>} before @param {boolean} animate */
  moveFrom(before, animate) {
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.before = before;
    this.started = animate && before.size && !calm ? performance.now() : -Infinity;
    this.places = new Map(
      this.scene.snapshot.stacks.map((/** @type {any} */ s) => [s.key, this.geometry.places[s.number]]),
    );
    this.draw();
  }

  /** Draw in the next frame. */
  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    const view = { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
    if (!this.scene || !view.width || !view.height) return;
    const start = performance.now();
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(view.width * ratio);
    this.canvas.height = Math.round(view.height * ratio);
    this.shared.camera ??= this.shared.chooseCamera(view);
    const progress = Math.min(1, (start - this.started) / MOVE_MS);
    const picture = this.picture(view, ratio, progress);
    const drawn = paint(picture);
    this.minimap.draw(picture, this === this.shared.visible().pop());
    this.canvas.dataset.drawn = String(drawn);
    this.canvas.dataset.paintMs = (performance.now() - start).toFixed(2);
    if (progress < 1) this.draw();
  }

  /** @param {{width: number, height: number}} view @param {number} ratio @param {number} progress */
  picture(view, ratio, progress) {
    const { snapshot, selected, found } = this.scene;
    const matches = snapshot.stacks.filter((/** @type {any} */ s) => found.size && s.nodes.some((/** @type {any} */ n) => found.has(n)));
    const own = selected && snapshot.byName.get(selected.name) === selected ? selected : null;
    const ids = own ? [...own.operands, ...own.users] : [];
    const kin = selected && !own ? snapshot.stacks.filter((/** @type {any} */ s) => birth(s) === birth(selected.stack)) : [];
    return {
      ...this.scene,
      ctx: /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d")),
      colors: palette(this.element),
      camera: this.shared.camera,
      geometry: progress < 1 ? this.moving(progress) : this.geometry,
      selected: own,
      near: new Set(ids.map((id) => snapshot.nodes[id].stack.number)),
      found: new Set(matches.map((/** @type {any} */ s) => s.number)),
      kin: new Set(kin.map((/** @type {any} */ s) => s.number)),
      focused: this.focused,
      hovered: this.hovered,
      view,
      ratio,
      progress,
    };
  }

  /** @param {number} progress */
  moving(progress) {
    const eased = progress * progress * (3 - 2 * progress);
    const places = this.scene.snapshot.stacks.map((/** @type {any} */ s) => {
      const to = this.geometry.places[s.number];
      const from = this.before.get(s.key);
      return from ? between(from, to, eased) : to;
    });
    return { ...this.geometry, places, grids: progress < 1 ? new Map() : this.geometry.grids };
  }

  /** Where a node stands, null if it is none of these. @param {any} node */
  placeOf(node) {
    return this.scene?.snapshot.byName.get(node.name) === node ? this.geometry.places[node.stack.number] : null;
  }

  /** The rectangle around everything, and the one around what is marked. */
  bounds() {
    const marked = Object.keys(this.scene.marks).map((i) => this.geometry.places[Number(i)]);
    return { all: around(this.geometry.places), marked: marked.length ? around(marked) : null };
  }

  listen() {
    const { canvas } = this;
    /** @type {{x: number, y: number, moved: boolean}|null} */
    let drag = null;
    canvas.addEventListener("pointerdown", (e) => {
      drag = { x: e.clientX, y: e.clientY, moved: false };
      canvas.setPointerCapture(e.pointerId);
    });
    canvas.addEventListener("pointermove", (e) => {
      if (!drag) return this.hover(e);
      const [dx, dy] = [e.clientX - drag.x, e.clientY - drag.y];
      if (!drag.moved && Math.hypot(dx, dy) < 4) return;
      drag = { x: e.clientX, y: e.clientY, moved: true };
      this.shared.pan(dx, dy);
    });
    canvas.addEventListener("pointerup", (e) => {
      if (drag && !drag.moved) this.click(e);
      drag = null;
    });
    canvas.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    canvas.addEventListener("pointerleave", () => this.setHovered(null));
    new ResizeObserver(() => (this.shared.settle() ? this.draw() : null)).observe(canvas);
  }

  /** @param {MouseEvent} e */
  under(e) {
    const { camera } = this.shared;
    if (!camera || !this.scene) return null;
    return hit(this.scene.snapshot, this.geometry, e.offsetX / camera.scale + camera.x, e.offsetY / camera.scale + camera.y);
  }

  /** @param {PointerEvent} e */
  hover(e) {
    const found = this.under(e);
    this.canvas.style.cursor = found ? "pointer" : "grab";
    this.canvas.title = found ? found.node?.name ?? found.stack.label : "";
    this.setHovered(found?.node ?? null);
  }

  /** @param {any} node */
  setHovered(node) {
    if (node === this.hovered) return;
    this.hovered = node;
    this.draw();
  }

  /** @param {PointerEvent} e */
  click(e) {
    const found = this.under(e);
    if (!found) return this.shared.select(null);
    const isOpen = this.geometry.grids.has(found.stack.number);
    if (found.stack.nodes.length > 1 && (!isOpen || !found.node)) this.shared.toggle(found.stack);
    this.shared.select(found.node ?? found.stack.nodes[0]);
  }

  /** @param {WheelEvent} e */
  wheel(e) {
    if (!e.ctrlKey && !e.metaKey) return;
    e.preventDefault();
    this.shared.zoom(Math.exp(-e.deltaY / 300), { x: e.offsetX, y: e.offsetY });
  }

  /**
   * Rebuild the hidden list: one button a stack, and one a copy where it is opened. Of very many
   * copies only those of the selected stack are listed, since each button costs time.
   */
  mirror() {
    const { snapshot, marks, opened, selected } = this.scene;
    const open = snapshot.stacks.filter((/** @type {any} */ s) => opened.has(s.key) && s.nodes.length > 1);
    const few = open.reduce((/** @type {number} */ n, /** @type {any} */ s) => n + s.nodes.length, 0) <= MOST_LISTED;
    const listed = new Set(few ? open : open.filter((/** @type {any} */ s) => s === selected?.stack));
    this.list.setAttribute("aria-label", this.scene.title);
    fill(this.list, ...snapshot.stacks.map((/** @type {any} */ s) => this.mirrorStack(s, marks[s.number], opened.has(s.key), listed.has(s))));
  }

  /** @param {any} stack @param {string[]|undefined} mark @param {boolean} open @param {boolean} list */
  mirrorStack(stack, mark, open, list) {
    const many = stack.nodes.length > 1;
    const words = [stack.label, stack.op, stack.type, many ? `${stack.nodes.length} copies` : "", mark?.[0] ?? ""];
    const copies = list ? stack.nodes.map((/** @type {any} */ n) => h("li", {}, this.mirrorButton(n, n.name, false))) : [];
    const button = this.mirrorButton(stack.nodes[0], words.filter(Boolean).join(", "), many);
    if (many) button.setAttribute("aria-expanded", String(open));
    return h("li", {}, button, copies.length ? h("ul", {}, ...copies) : null);
  }

  /** @param {any} node @param {string} words @param {boolean} opens */
  mirrorButton(node, words, opens) {
    const press = () => {
      if (opens) this.shared.toggle(node.stack);
      this.shared.select(node);
      const again = this.list.querySelector(`[data-node="${CSS.escape(node.name)}"]`);
      /** @type {HTMLElement|null} */ (again)?.focus();
    };
    const focus = () => this.setFocused(node.stack.number);
    const pressed = this.scene.selected === node;
    const on = { click: press, focus, blur: () => this.setFocused(-1) };
    return h("button", { type: "button", "data-node": node.name, "aria-pressed": pressed, text: words, on });
  }

  /** @param {number} number */
  setFocused(number) {
    this.focused = number;
    this.draw();
  }
}

/**
 * The camera that all panes of one viewer share. `reset` lets it be chosen anew, `settle` does so
 * unless the person has moved it.
 * @param {{select: (node: any) => void, toggle: (stack: any) => void}} actions
 */
export function sharedCamera(actions) {
  /** @type {any} */
  const shared = { ...actions, camera: null, chosen: false, panes: [] };
  const set = (/** @type {any} */ camera) => {
    shared.camera = camera;
    shared.chosen = camera !== null;
    shared.panes.forEach((/** @type {GraphPane} */ pane) => pane.draw());
  };
  shared.visible = () => shared.panes.filter((/** @type {GraphPane} */ p) => !p.element.hidden);
  const all = () => {
    const found = shared.visible().filter((/** @type {GraphPane} */ p) => p.scene).map((/** @type {GraphPane} */ p) => p.bounds());
    const marked = found.map((/** @type {any} */ b) => b.marked).filter(Boolean);
    return { all: around(found.map((/** @type {any} */ b) => b.all)), marked: marked.length ? around(marked) : null };
  };
  const size = () => {
    const canvas = shared.panes.find((/** @type {GraphPane} */ p) => p.canvas.clientWidth).canvas;
    return { width: canvas.clientWidth, height: canvas.clientHeight };
  };
  shared.chooseCamera = (/** @type {any} */ view) => {
    const bounds = all();
    return startCamera(bounds.all, bounds.marked, view);
  };
  shared.fit = () => set(fit(all().all, size()));
  shared.reset = () => set(null);
  shared.settle = () => {
    if (!shared.chosen) set(null);
    return shared.chosen;
  };
  shared.centre = (/** @type {{x: number, y: number}} */ { x, y }) => {
    const { scale } = shared.camera;
    const { width, height } = size();
    set({ x: x - width / 2 / scale, y: y - height / 2 / scale, scale });
  };
  shared.reveal = (/** @type {any} */ node) => {
    const places = shared.visible().map((/** @type {GraphPane} */ p) => p.placeOf(node)).filter(Boolean);
    const camera = shared.camera && places.length ? revealing(places[0], shared.camera, size()) : shared.camera;
    if (camera !== shared.camera) set(camera);
  };
  shared.pan = (/** @type {number} */ dx, /** @type {number} */ dy) => {
    const { x, y, scale } = shared.camera;
    set({ x: x - dx / scale, y: y - dy / scale, scale });
  };
  shared.zoom = (/** @type {number} */ factor, /** @type {any} */ at) => {
    const { width, height } = size();
    set(zoomed(shared.camera, factor, at ?? { x: width / 2, y: height / 2 }));
  };
  return shared;
}
