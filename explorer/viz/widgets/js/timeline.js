// The row of passes: what each cost and changed; one of them is shown.
import { countsText, timeText } from "./data.js";
import { fill, h } from "./dom.js";

/**
 * @param {(name: string) => void} choose called with the name of a pass
 */
export function makeTimeline(choose) {
  const list = h("ol", { class: "kx-timeline", "aria-label": "Compiler passes" });
  list.addEventListener("keydown", (e) => step(list, e));

  /** @param {any} recording @param {any} shown */
  const update = (recording, shown) => {
    const had = list.contains(document.activeElement);
    const most = Math.max(1, ...recording.passes.map(total));
    fill(list, ...recording.passes.map((/** @type {any} */ p) => h("li", { class: `kx-step-${p.status}` }, passButton(p, p === shown, most, recording.differences, choose))));
    const current = /** @type {HTMLElement|null} */ (list.querySelector("[aria-current]"));
    current?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
    if (had) current?.focus();
  };
  return { element: list, update };
}

/** @param {any} pass */
function total(pass) {
  return Object.values(pass.counts).reduce((a, b) => /** @type {number} */ (a) + /** @type {number} */ (b), 0);
}

/**
 * @param {any} pass
 * @param {boolean} current
 * @param {number} most
 * @param {any} differences
 * @param {(name: string) => void} choose
 */
function passButton(pass, current, most, differences, choose) {
  const counts = countsText(pass.counts, differences);
  const state = { skipped: "skipped", failed: "failed", unchanged: "no change" }[/** @type {string} */ (pass.status)];
  const props = {
    type: "button",
    class: `kx-pass kx-${pass.status}`,
    "data-pass": pass.name,
    "aria-current": current ? "step" : null,
    tabindex: current ? "0" : "-1",
    title: pass.words,
    on: { click: () => choose(pass.name) },
  };
  return h(
    "button",
    props,
    h("span", { class: "kx-pass-name", text: pass.name }),
    bar(pass, most, differences),
    h("span", { class: "kx-pass-counts", text: state ?? (counts || "no change") }),
    h("span", { class: "kx-pass-time", text: timeText(pass.ms) }),
  );
}

/** Share of each kind of change; longest for the pass that changed most, on a logarithmic scale.
 * @param {any} pass @param {number} most @param {any} differences */
function bar(pass, most, differences) {
  const all = /** @type {number} */ (total(pass));
  const length = Math.log1p(all) / Math.log1p(most);
  const parts = Object.keys(differences)
    .filter((kind) => pass.counts[kind])
    .map((kind) => h("span", { style: `width:${(100 * length * pass.counts[kind]) / all}%;background:var(--kx-${kind})` }));
  return h("span", { class: "kx-bar", "aria-hidden": "true" }, ...parts);
}

/** @param {HTMLElement} list @param {KeyboardEvent} e */
function step(list, e) {
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
  if (!by) return;
  e.preventDefault();
  e.stopPropagation();
  const buttons = /** @type {HTMLElement[]} */ ([...list.querySelectorAll("button")]);
  const at = buttons.findIndex((b) => b.hasAttribute("aria-current"));
  buttons[Math.max(0, Math.min(buttons.length - 1, at + by))].click();
}
