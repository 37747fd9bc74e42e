// The explorer: puts the parts together and joins them to the widget's state.
import { counterpart, unpack } from "./data.js";
import { fill, h } from "./dom.js";
import { GraphPane, sharedCamera } from "./graph.js";
import { makeTimeline } from "./timeline.js";
import { makeDetails } from "./details.js";
import { makeTexts } from "./source.js";
import { makeError, makeSliders, makeStatus } from "./controls.js";
import { makePlayer } from "./player.js";
import { makeSearch } from "./search.js";
import { makeTools } from "./tools.js";

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
    this.player = makePlayer({
      passes: () => this.recording.passes,
      shown: () => this.pass(),
      show: (pass) => this.set({ shown: pass.name }),
      changed: () => this.refreshTools(),
    });
    this.timeline = makeTimeline((name) => this.choosePass(name));
    this.search = makeSearch({ changed: () => this.refresh(), go: (node) => this.goTo(node) });
    this.details = makeDetails((node) => this.goTo(node));
    this.texts = makeTexts((line) => this.selectLine(line));
    this.sliders = makeSliders((symbol, value) => this.request({ set: { [symbol]: value } }));
    this.status = makeStatus(() => this.request({ stop: true }));
    this.error = makeError();
    this.head = h("header", { class: "kx-head" });
    this.passLine = h("div", { class: "kx-pass-line" });
    this.tools = makeTools({
      show: (view) => this.show(view),
      toggleAll: () => this.toggleAll(),
      play: () => this.player.toggle(),
      zoom: (factor) => this.shared.zoom(factor),
      fit: () => this.shared.fit(),
    }, this.search.element);
    this.element = this.build();
    el.append(this.element);
    this.standby = standbyOf(this.element);
    this.listen();
    this.refresh();
  }

  build() {
    const graphs = h("div", { class: "kx-graphs" }, ...this.panes.map((p) => p.element));
    const controls = h("div", { class: "kx-controls" }, this.sliders.element, this.status.element);
    this.main = h("div", { class: "kx-main" }, h("div", { class: "kx-stage" }, this.tools.element, graphs), this.details.element, this.texts.element);
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
    this.player.stop();
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

  /** Select a node and bring it into view. @param {any} node */
  goTo(node) {
    this.select(node);
    this.shared.reveal(node);
  }

  /** @param {string} name */
  choosePass(name) {
    this.player.stop();
    this.set({ shown: name });
  }

  /** @param {number} line */
  selectLine(line) {
    const found = this.pass().after.stacks.find((/** @type {any} */ s) => s.line === line);
    if (found) this.goTo(found.nodes[0]);
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
    const { before, after } = this.pass();
    this.tools.update({
      view: this.view,
      many: [...before.stacks, ...after.stacks].some((s) => s.nodes.length > 1),
      open: this.model.get("opened").length > 0,
      playing: this.player.playing(),
    });
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
    const found = this.search.update(this.view === "before" ? pass.before : pass.after, selected);
    const common = { families, differences, opened: new Set(this.model.get("opened")), selected, found };
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
