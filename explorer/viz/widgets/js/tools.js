// The row of buttons above the graphs.
import { h } from "./dom.js";

const VIEWS = [["both", "Both"], ["before", "Before"], ["after", "After"]];

/**
 * @param {{show: (view: string) => void, toggleAll: () => void, play: () => void,
 *   zoom: (factor: number) => void, fit: () => void}} actions
 * @param {HTMLElement} search
 */
export function makeTools(actions, search) {
  const views = VIEWS.map(([id, name]) => tool(name, () => actions.show(id), { "data-view": id }));
  const stacks = tool("Open stacks", actions.toggleAll);
  const play = tool("▶ Play", actions.play, { title: "Show the passes that changed something, one after the other" });
  const element = h(
    "div",
    { class: "kx-tools" },
    h("span", { class: "kx-choice", role: "group", "aria-label": "Graphs shown" }, ...views),
    play,
    stacks,
    search,
    h("span", { class: "kx-space" }),
    tool("−", () => actions.zoom(0.8), { "aria-label": "Zoom out" }),
    tool("+", () => actions.zoom(1.25), { "aria-label": "Zoom in" }),
    tool("Fit", actions.fit),
  );
  /** @param {{view: string, many: boolean, open: boolean, playing: boolean}} state */
  const update = ({ view, many, open, playing }) => {
    views.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.view === view)));
    stacks.hidden = !many;
    stacks.textContent = open ? "Close stacks" : "Open stacks";
    play.textContent = playing ? "❚❚ Pause" : "▶ Play";
  };
  return { element, update };
}

/** @param {string} text @param {() => void} click @param {Record<string, any>} [more] */
function tool(text, click, more = {}) {
  return h("button", { type: "button", text, on: { click }, ...more });
}
