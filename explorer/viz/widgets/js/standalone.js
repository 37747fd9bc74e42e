// A page without a kernel: the same viewer on a model that only remembers.
import { render } from "./explorer.js";

/** The part of the widget's model that the viewer uses. */
class LocalModel {
  /** @param {Record<string, any>} values */
  constructor(values) {
    this.values = values;
    /** @type {Map<string, Set<() => void>>} */
    this.listeners = new Map();
  }

  /** @param {string} name */
  get(name) {
    return this.values[name];
  }

  /** @param {string} name @param {any} value */
  set(name, value) {
    const changed = this.values[name] !== value;
    this.values[name] = value;
    if (changed) this.listeners.get(`change:${name}`)?.forEach((callback) => callback());
  }

  save_changes() {}

  /** @param {string} event @param {() => void} callback */
  on(event, callback) {
    this.listeners.set(event, (this.listeners.get(event) ?? new Set()).add(callback));
  }

  /** @param {string} event @param {() => void} callback */
  off(event, callback) {
    this.listeners.get(event)?.delete(callback);
  }
}

const recording = JSON.parse(document.getElementById("recording")?.textContent ?? "null");
const passes = recording.passes.map((/** @type {any} */ p) => p.name);
const state = { recording, shown: passes[passes.length - 1], selected: "", opened: [], sliders: [], progress: {}, result: {}, error: "" };
const place = /** @type {HTMLElement} */ (document.getElementById("explorer"));
place.replaceChildren();
render({ model: new LocalModel(state), el: place });
