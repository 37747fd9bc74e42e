// What is known of the selected node.
import { fill, h } from "./dom.js";

const MOST = 12;

/**
 * @param {(node: any) => void} select
 */
export function makeDetails(select) {
  const element = h("section", { class: "kx-details", "aria-label": "Selected node", "aria-live": "polite" });

  /** @param {any} node @param {any} snapshot @param {string[]|undefined} mark @param {any} recording */
  const update = (node, snapshot, mark, recording) => {
    if (!node) return fill(element, ...legend(recording));
    const { stack } = node;
    const of = (/** @type {number[]} */ ids) => [...new Set(ids)].map((id) => snapshot.nodes[id]);
    fill(
      element,
      heading(node),
      h("p", { class: "kx-why", text: [stack.why, node.which].filter(Boolean).join(" ") }),
      h(
        "dl",
        {},
        ...row("operation", words(stack.op, recording.families[stack.family]?.[2])),
        ...row("type", code(stack.type)),
        ...row("in", words(stack.scope)),
        ...row("changed", mark ? words(mark.filter(Boolean).join(": ")) : null),
        ...Object.entries(stack.attrs).flatMap(([key, value]) => row(key.replaceAll("_", " "), code(String(value)))),
        ...Object.entries(node.index).flatMap(([dim, text]) => row(`index ${dim}`, code(String(text)))),
        ...row("copies", stack.nodes.length > 1 ? words(`${stack.nodes.length} along ${stack.dims.join(", ")}`) : null),
        ...row("reads", links(of(node.operands), select)),
        ...row("used by", links(of(node.users), select)),
      ),
    );
  };
  return { element, update };
}

/** @param {any} node */
function heading(node) {
  const { stack } = node;
  return h(
    "h3",
    {},
    h("span", { class: "kx-symbol", style: `color:var(--kx-${safeName(stack.family)})`, "aria-hidden": "true", text: stack.symbol }),
    h("span", { text: node.name }),
  );
}

/** A family as part of a CSS name. @param {string} name */
function safeName(name) {
  return /^[a-z]+$/.test(name) ? name : "other";
}

/** Nothing selected: what the shapes and signs mean. @param {any} recording */
function legend(recording) {
  const families = Object.entries(recording.families).map(([name, [symbol, , says]]) => key(symbol, name, says));
  const differences = Object.entries(recording.differences).map(([name, [symbol, says]]) => key(symbol, name, says));
  return [
    h("h3", { text: "Select a node" }),
    h("p", { class: "kx-why", text: "Click a node to see where it comes from; click a stack (×4) to open its copies. Drag to move, Ctrl + wheel to zoom." }),
    h("ul", { class: "kx-legend" }, ...families),
    h("ul", { class: "kx-legend" }, ...differences),
  ];
}

/** @param {string} symbol @param {string} name @param {string} says */
function key(symbol, name, says) {
  return h("li", {}, h("span", { class: "kx-symbol", style: `color:var(--kx-${safeName(name)})`, text: symbol }), h("span", { text: says }));
}

/** @param {string} name @param {Node|null} value */
function row(name, value) {
  return value ? [h("dt", { text: name }), h("dd", {}, value)] : [];
}

/** @param {string} text @param {string} [more] */
function words(text, more) {
  return text ? h("span", { text: more ? `${text} (${more})` : text }) : null;
}

/** @param {string} text */
function code(text) {
  return text ? h("code", { text }) : null;
}

/** @param {any[]} nodes @param {(node: any) => void} select */
function links(nodes, select) {
  if (!nodes.length) return null;
  const buttons = nodes.slice(0, MOST).map((node) => h("button", { type: "button", class: "kx-link", text: node.name, on: { click: () => select(node) } }));
  const rest = nodes.length - MOST;
  return h("span", { class: "kx-links" }, ...buttons, rest > 0 ? h("span", { text: `and ${rest} more` }) : null);
}
