// Finding nodes by a part of their name or operation, or by a regular expression.
import { h } from "./dom.js";

/**
 * Whether a node is looked for: `/.../` is a regular expression, anything else a part of a name or
 * an operation. Null when nothing is looked for.
 * @param {string} query
 * @returns {((node: any) => boolean)|null}
 * @throws {SyntaxError} the regular expression is none
 */
export function matcher(query) {
  const text = query.trim();
  const expression = text.startsWith("/") ? text.slice(1).replace(/\/$/, "") : text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  if (!expression) return null;
  const looked = new RegExp(expression, "i");
  return (node) => [node.name, node.stack.label, node.stack.op].some((name) => looked.test(name));
}

/**
 * The nodes of a snapshot that are looked for, in order, or what is wrong with the query.
 * @param {any} snapshot
 * @param {string} query
 * @returns {{nodes: any[], problem: string}}
 */
export function search(snapshot, query) {
  try {
    const wanted = matcher(query);
    return { nodes: wanted ? snapshot.nodes.filter(wanted) : [], problem: "" };
  } catch {
    return { nodes: [], problem: "not a regular expression" };
  }
}

/**
 * The node to go to next: `by` places after the one selected, round and round.
 * @param {any[]} nodes
 * @param {any} selected
 * @param {number} by 1 or -1
 */
export function stepped(nodes, selected, by) {
  const at = nodes.indexOf(selected);
  const next = at < 0 ? (by > 0 ? 0 : nodes.length - 1) : at + by;
  return nodes[(next + nodes.length) % nodes.length];
}

/**
 * The search field. Enter goes to the next match, Shift + Enter to the one before.
 * @param {{changed: () => void, go: (node: any) => void}} actions
 */
export function makeSearch({ changed, go }) {
  const hint = "a part of a name or operation, or /a regular expression/";
  const input = /** @type {HTMLInputElement} */ (
    h("input", { type: "search", class: "kx-query", placeholder: "Find nodes", title: hint, "aria-label": `Find nodes: ${hint}` })
  );
  const count = h("span", { class: "kx-found", role: "status" });
  const element = h("span", { class: "kx-search", role: "search" }, input, count);
  let found = /** @type {{nodes: any[], problem: string}} */ ({ nodes: [], problem: "" });
  let selected = /** @type {any} */ (null);
  input.addEventListener("input", changed);
  input.addEventListener("keydown", (e) => {
    if (e.key !== "Enter" || !found.nodes.length) return;
    e.preventDefault();
    go(stepped(found.nodes, selected, e.shiftKey ? -1 : 1));
  });
  /** Look again. @param {any} snapshot @param {any} node the one selected; @returns the matches */
  const update = (snapshot, node) => {
    found = search(snapshot, input.value);
    selected = node;
    const at = found.nodes.indexOf(node) + 1;
    count.textContent = input.value.trim() ? found.problem || `${at ? `${at} of ` : ""}${found.nodes.length || "none"}` : "";
    return new Set(found.nodes);
  };
  return { element, update };
}
