// The explorer: puts the parts together and joins them to the widget's state.
import { counterpart, unpack } from "./data.js";
import { fill, h } from "./dom.js";
import { GraphPane, sharedCamera } from "./graph.js";
import { makeTimeline } from "./timeline.js";
import { makeDetails } from "./details.js";
import { makeTexts } from "./source.js";
import { makeError, makeSliders, makeStatus } from "./controls.js";

const VIEWS = [["both", "Both"], ["before", "Before"], ["after", "After"]];

/**
 * Draw the widget in `el`. The model has the traits of `ExplorerWidget`.
 * @param {{model: any, el: HTMLElement}} context
 * @returns {() => void} what to call when the view goes away
 */
export function render({ model, el }) {
  const explorer = new Explorer(model, el);
  return () => explorer.close();
}

class Explorer {
  /** @param {any} model @param {HTMLElement} el */
  constructor(model, el) {
    this.model = model;
    this.view = "both";
    this.redraw = () => this.panes.forEach((p) => p.draw());
    this.watcher = new MutationObserver(this.redraw);
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.last = /** @type {any} */ (null);
    this.drawnPass = /** @type {any} */ (null);
    this.recording = unpack(model.get("recording"));
    this.shared = sharedCamera({ select: (n) => this.select(n), toggle: (s) => this.toggle(s) });
    this.panes = [new GraphPane("Before", this.shared), new GraphPane("After", this.shared)];
    this.shared.panes = this.panes;
    this.timeline = makeTimeline((name) => this.set({ shown: name }));
    this.details = makeDetails((node) => this.select(node));
    this.texts = makeTexts((line) => this.selectLine(line));
    this.sliders = makeSliders((symbol, value) => this.request({ set: { [symbol]: value } }));
    this.status = makeStatus(() => this.request({ stop: true }));
    this.error = makeError();
    this.head = h("header", { class: "kx-head" });
    this.passLine = h("div", { class: "kx-pass-line" });
    this.tools = h("div", { class: "kx-tools" });
    this.element = this.build();
    el.append(this.element);
    this.standby = standbyOf(this.element);
    this.listen();
    this.refresh();
  }

  build() {
    const graphs = h("div", { class: "kx-graphs" }, ...this.panes.map((p) => p.element));
    const controls = h("div", { class: "kx-controls" }, this.sliders.element, this.status.element);
    this.main = h("div", { class: "kx-main" }, h("div", { class: "kx-stage" }, this.tools, graphs), this.details.element, this.texts.element);
    return h("div", { class: "kx", role: "region", "aria-label": "Kernel explorer" }, this.head, controls, this.error.element, this.timeline.element, this.passLine, this.main);
  }

  listen() {
    this.watcher.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
    this.scheme.addEventListener("change", this.redraw);
    this.changes = {
      "change:recording": () => this.replace(),
      "change:shown": () => this.follow(),
      "change:selected change:opened": () => this.refresh(),
      "change:sliders change:progress change:result change:error": () => this.refreshControls(),
    };
    for (const [events, callback] of Object.entries(this.changes)) {
      for (const event of events.split(" ")) this.model.on(event, callback);
    }
  }

  close() {
    this.watcher.disconnect();
    this.scheme.removeEventListener("change", this.redraw);
    for (const [events, callback] of Object.entries(this.changes ?? {})) {
      for (const event of events.split(" ")) this.model.off(event, callback);
    }
    this.element.remove();
    this.standby.back();
  }

  /** Change synced state and draw. @param {Record<string, any>} values */
  set(values) {
    for (const [name, value] of Object.entries(values)) this.model.set(name, value);
    this.model.save_changes();
  }

  /** @param {Record<string, any>} what */
  request(what) {
    this.set({ request: { serial: Date.now(), ...what } });
  }

  /** A new recording: keep the pass, the selection and the opened stacks where they exist. */
  replace() {
    const before = this.selected();
    this.recording = unpack(this.model.get("recording"));
    this.shared.reset();
    this.carry(before);
    this.refresh();
  }

  /** Another pass is shown: the selection goes on to what stands for it there. */
  follow() {
    this.carry(this.last);
    this.refresh();
  }

  /** @param {any} node */
  carry(node) {
    if (!node) return;
    const { after, before } = this.pass();
    const next = counterpart(node, after) ?? counterpart(node, before);
    if (next && next.name !== this.model.get("selected")) this.set({ selected: next.name });
  }

  /** The pass shown; the last one when the name is not there. */
  pass() {
    const { passes } = this.recording;
    return passes.find((/** @type {any} */ p) => p.name === this.model.get("shown")) ?? passes[passes.length - 1];
  }

  /** The selected node: of the graph after the pass, else of the one before. */
  selected() {
    const { after, before } = this.pass();
    const name = this.model.get("selected");
    return after.byName.get(name) ?? before.byName.get(name) ?? null;
  }

  /** @param {any} node */
  select(node) {
    this.set({ selected: node?.name ?? "" });
  }

  /** @param {number} line */
  selectLine(line) {
    const found = this.pass().after.stacks.find((/** @type {any} */ s) => s.line === line);
    if (found) this.select(found.nodes[0]);
  }

  /** @param {any} stack */
  toggle(stack) {
    const opened = new Set(this.model.get("opened"));
    if (!opened.delete(stack.key)) opened.add(stack.key);
    this.shared.settle();
    this.set({ opened: [...opened] });
  }

  toggleAll() {
    const { before, after } = this.pass();
    const keys = [...before.stacks, ...after.stacks].filter((s) => s.nodes.length > 1).map((s) => s.key);
    this.shared.settle();
    this.set({ opened: this.model.get("opened").length ? [] : [...new Set(keys)] });
  }

  refresh() {
    const pass = this.pass();
    const node = this.selected();
    this.last = node;
    this.refreshHead();
    this.refreshControls();
    this.timeline.update(this.recording, pass);
    fill(this.passLine, ...passWords(pass));
    this.refreshTools();
    this.refreshPanes(pass, node);
    const mark = node && (pass.after.byName.get(node.name) === node ? pass.marksAfter : pass.marksBefore)[node.stack.number];
    const snapshot = node && pass.after.byName.get(node.name) === node ? pass.after : pass.before;
    this.details.update(node, snapshot, mark, this.recording);
    this.texts.update(this.recording, new Set(node?.stack.line ? [node.stack.line] : []));
  }

  refreshHead() {
    const { kernel, target, bindings } = this.recording;
    const values = Object.entries(bindings).map(([k, v]) => `${k} = ${v}`).join("   ");
    fill(this.head, h("strong", { text: kernel }), h("span", { text: `for ${target}` }), h("span", { class: "kx-bindings", text: values }));
  }

  refreshControls() {
    const { model } = this;
    this.sliders.update(model.get("sliders"));
    this.status.update(model.get("progress"), model.get("result"));
    this.error.update(model.get("error") || this.pass().error || "");
  }

  refreshTools() {
    const many = [...this.pass().before.stacks, ...this.pass().after.stacks].some((s) => s.nodes.length > 1);
    const views = VIEWS.map(([id, name]) => tool(name, () => this.show(id), { "aria-pressed": String(id === this.view) }));
    const open = this.model.get("opened").length > 0;
    fill(
      this.tools,
      h("span", { class: "kx-choice", role: "group", "aria-label": "Graphs shown" }, ...views),
      many ? tool(open ? "Close stacks" : "Open stacks", () => this.toggleAll()) : null,
      h("span", { class: "kx-space" }),
      tool("−", () => this.shared.zoom(0.8), { "aria-label": "Zoom out" }),
      tool("+", () => this.shared.zoom(1.25), { "aria-label": "Zoom in" }),
      tool("Fit", () => this.shared.fit()),
    );
  }

  /** @param {string} view */
  show(view) {
    this.view = view;
    this.shared.reset();
    this.refresh();
  }

  /** @param {any} pass @param {any} selected */
  refreshPanes(pass, selected) {
    const { families, differences } = this.recording;
    const common = { families, differences, opened: new Set(this.model.get("opened")), selected };
    const [before, after] = this.panes;
    this.main?.classList.toggle("kx-one", this.view !== "both");
    before.element.hidden = this.view === "after";
    after.element.hidden = this.view === "before";
    if (this.drawnPass !== pass) this.shared.reset();
    this.drawnPass = pass;
    before.show({ ...common, snapshot: pass.before, marks: pass.marksBefore, title: `before ${pass.name}` });
    after.show({ ...common, snapshot: pass.after, marks: pass.marksAfter, title: `after ${pass.name}` });
  }
}

/**
 * Hides the static form that stands above a live view, as soon as the view is on the page.
 * @param {HTMLElement} element
 */
function standbyOf(element) {
  /** @type {HTMLElement[]} */
  let hidden = [];
  const observer = new ResizeObserver(() => {
    observer.disconnect();
    const forms = element.closest(".jp-OutputArea")?.querySelectorAll(".kx-static") ?? [];
    hidden = [...forms].map((form) => /** @type {HTMLElement} */ (form.closest(".jp-OutputArea-child") ?? form));
    hidden.forEach((output) => (output.style.display = "none"));
  });
  observer.observe(element);
  return {
    back() {
      observer.disconnect();
      hidden.forEach((output) => (output.style.display = ""));
    },
  };
}

/** What a pass is for, and what it decided. @param {any} pass */
function passWords(pass) {
  const [first, ...rest] = pass.doc.split(/\n\s*\n/);
  const says = h("span", { text: first.replace(/\s+/g, " ") });
  const more = rest.join("\n\n").trimEnd();
  const doc = more ? h("details", {}, h("summary", {}, says), h("pre", { text: more })) : says;
  return [doc, ...pass.notes.map((/** @type {string} */ note) => h("p", { class: "kx-note", text: note }))];
}

/** @param {string} text @param {() => void} click @param {Record<string, any>} [more] */
function tool(text, click, more = {}) {
  return h("button", { type: "button", text, on: { click }, ...more });
}
