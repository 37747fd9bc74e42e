// Tile sliders, progress with Stop, the result, and errors.
import { timeText } from "./data.js";
import { fill, h } from "./dom.js";

/**
 * @typedef {{symbol: string, values: number[], value: number, illegal: Record<string, string>}} Slider
 */

/**
 * The sliders. The label follows the thumb; a request goes out when it is released.
 * @param {(symbol: string, value: number) => void} request
 */
export function makeSliders(request) {
  const element = h("div", { class: "kx-sliders", role: "group", "aria-label": "Tile sizes" });
  let before = "";
  /** @param {Slider[]} sliders */
  const update = (sliders) => {
    element.hidden = sliders.length === 0;
    if (JSON.stringify(sliders) === before) return;
    before = JSON.stringify(sliders);
    const focused = document.activeElement?.getAttribute("data-symbol");
    fill(element, ...sliders.map((s) => slider(s, request)));
    if (focused) /** @type {HTMLElement} */ (element.querySelector(`[data-symbol="${CSS.escape(focused)}"]`))?.focus();
  };
  return { element, update };
}

/** @param {Slider} s @param {(symbol: string, value: number) => void} request */
function slider(s, request) {
  const at = Math.max(0, s.values.indexOf(s.value));
  const input = /** @type {HTMLInputElement} */ (
    h("input", { type: "range", min: 0, max: s.values.length - 1, step: 1, "data-symbol": s.symbol, "aria-label": s.symbol })
  );
  input.value = String(at);
  const value = h("output", { class: "kx-value" });
  const reason = h("span", { class: "kx-reason", role: "status" });
  const ticks = h("span", { class: "kx-ticks", "aria-hidden": "true" }, ...s.values.map((v, i) => tick(v, i, s)));
  const label = () => {
    const chosen = s.values[Number(input.value)];
    const why = s.illegal[chosen];
    value.textContent = String(chosen);
    input.setAttribute("aria-valuetext", why ? `${chosen}, not possible: ${why}` : String(chosen));
    value.classList.toggle("kx-illegal", Boolean(why));
    reason.textContent = why ?? "";
  };
  input.addEventListener("input", label);
  input.addEventListener("change", () => release(s, input, request));
  label();
  return h("label", { class: "kx-slider" }, h("span", { class: "kx-name", text: s.symbol }), h("span", { class: "kx-track" }, input, ticks), value, reason);
}

/** An illegal position springs back, its reason stays to be read.
 * @param {Slider} s @param {HTMLInputElement} input @param {(symbol: string, value: number) => void} request */
function release(s, input, request) {
  const chosen = s.values[Number(input.value)];
  if (!s.illegal[chosen]) return request(s.symbol, chosen);
  input.value = String(Math.max(0, s.values.indexOf(s.value)));
  const value = input.closest("label")?.querySelector("output");
  if (value) value.textContent = String(s.value);
  value?.classList.remove("kx-illegal");
}

/** @param {number} v @param {number} i @param {Slider} s */
function tick(v, i, s) {
  const why = s.illegal[v];
  return h("span", { class: why ? "kx-illegal" : "", title: why ?? "", style: `left:${tickAt(i, s.values.length)}`, text: String(v) });
}

/** Where the thumb stands for position `i` of `count`; the thumb is 16 pixels wide.
 * @param {number} i @param {number} count */
export function tickAt(i, count) {
  const part = count > 1 ? i / (count - 1) : 0;
  return `calc(8px + ${part} * (100% - 16px))`;
}

/**
 * One line that says what goes on, or how the last run went.
 * @param {() => void} stop
 */
export function makeStatus(stop) {
  const bar = h("progress", { max: 1, "aria-label": "Progress" });
  const text = h("span", { class: "kx-status-text", role: "status" });
  const button = h("button", { type: "button", class: "kx-stop", text: "Stop", on: { click: stop } });
  const element = h("div", { class: "kx-status" }, text, bar, button);
  /** @param {{state?: string, text?: string, fraction?: number|null}} progress @param {any} result */
  const update = (progress, result) => {
    const busy = progress.state === "busy";
    bar.hidden = button.hidden = !busy;
    if (typeof progress.fraction === "number") bar.setAttribute("value", String(progress.fraction));
    else bar.removeAttribute("value");
    text.textContent = busy ? progress.text ?? "" : resultText(result) || (progress.text ?? "");
    text.className = `kx-status-text ${busy || result.ok === undefined ? "" : result.ok ? "kx-good" : "kx-bad"}`;
    element.hidden = !text.textContent && !busy;
  };
  return { element, update };
}

/**
 * `✓ matches · largest error 1.2e-7 · 0.34 ms · local`
 * @param {any} result
 */
export function resultText(result) {
  if (result.ok === undefined || result.ok === null) return result.message ?? "";
  const parts = [
    result.ok ? "✓ matches" : "✗ differs",
    typeof result.max_error === "number" ? `largest error ${errorText(result.max_error)}` : "",
    typeof result.seconds === "number" ? timeText(result.seconds * 1000) : "",
    result.device ?? "",
    result.message ?? "",
  ];
  return parts.filter(Boolean).join(" · ");
}

/** @param {number} value */
function errorText(value) {
  return value === 0 ? "0" : value.toExponential(1);
}

/** The error box. */
export function makeError() {
  const text = h("pre");
  const element = h("div", { class: "kx-error", role: "alert" }, text);
  /** @param {string} message */
  const update = (message) => {
    element.hidden = !message;
    text.textContent = message;
  };
  return { element, update };
}
