// Texts: the kernel's source with the selected line lit, MLIR, machine code.
import { fill, h } from "./dom.js";

const TABS = [["source", "Kernel"], ["mlir", "MLIR"], ["isa", "ISA"], ["resources", "Resources"]];

/**
 * @param {(line: number) => void} chooseLine called with a line number of the source
 */
export function makeTexts(chooseLine) {
  const bar = h("div", { class: "kx-tabs", role: "tablist", "aria-label": "Texts" });
  const body = h("div", { class: "kx-text", role: "tabpanel", tabindex: "0" });
  const element = h("section", { class: "kx-texts" }, bar, body);
  let shown = "source";
  let recording = /** @type {any} */ (null);
  let lit = /** @type {Set<number>} */ (new Set());

  const draw = () => {
    fill(bar, ...TABS.filter(([id]) => has(recording, id)).map(([id, name]) => tab(id, name, id === shown, pick)));
    const lines = shown === "source" ? sourceLines(recording.source, lit, chooseLine) : [plain(recording, shown)];
    fill(body, ...lines);
    const line = /** @type {HTMLElement|null} */ (body.querySelector(".kx-lit"));
    if (line) body.scrollTop = line.offsetTop - body.offsetTop - body.clientHeight / 2;
  };
  const pick = (/** @type {string} */ id) => {
    shown = id;
    draw();
    /** @type {HTMLElement} */ (bar.querySelector("[aria-selected=true]"))?.focus();
  };
  /** @param {any} next @param {Set<number>} lines numbers of the lines to light */
  const update = (next, lines) => {
    const same = next === recording && [...lines].join() === [...lit].join();
    recording = next;
    lit = lines;
    if (!has(recording, shown)) shown = TABS.find(([id]) => has(recording, id))?.[0] ?? "source";
    if (!same) draw();
  };
  return { element, update };
}

/** @param {any} recording @param {string} id */
function has(recording, id) {
  const value = recording?.[id];
  return id === "resources" ? Object.keys(value ?? {}).length > 0 : Boolean(value) || id === "source";
}

/** @param {string} id @param {string} name @param {boolean} selected @param {(id: string) => void} pick */
function tab(id, name, selected, pick) {
  const on = { click: () => pick(id) };
  return h("button", { type: "button", role: "tab", "data-tab": id, "aria-selected": String(selected), text: name, on });
}

/** @param {any} source @param {Set<number>} lit @param {(line: number) => void} chooseLine */
function sourceLines(source, lit, chooseLine) {
  if (!source) return [h("p", { class: "kx-empty", text: "The kernel's text was not recorded." })];
  return source.lines.map((/** @type {string} */ text, /** @type {number} */ i) => {
    const number = source.first + i;
    return h(
      "div",
      { class: lit.has(number) ? "kx-line kx-lit" : "kx-line", "data-line": number, on: { click: () => chooseLine(number) } },
      h("span", { class: "kx-number", text: String(number) }),
      h("span", { class: "kx-code", text: text || " " }),
    );
  });
}

/** @param {any} recording @param {string} id */
function plain(recording, id) {
  if (id !== "resources") return h("pre", { text: recording[id] });
  const rows = Object.entries(recording.resources).map(([name, value]) =>
    h("tr", {}, h("th", { scope: "row", text: name }), h("td", { text: String(value) })));
  return h("table", { class: "kx-resources" }, ...rows);
}
