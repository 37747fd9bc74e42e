// Making elements. Texts are only ever set as text, never as HTML.

// JupyterLab takes arrow keys and Enter for itself, except from elements with a certain attribute.
const KEYED = new Set(["button", "input", "summary"]);

/**
 * Make an element.
 * @param {string} tag
 * @param {Record<string, any>} [props] `class`, `text`, `on` (event -> listener), else attributes;
 *   an attribute that is null, undefined or false is left out
 * @param {...(Node|string|null)} children
 * @returns {HTMLElement}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  if (KEYED.has(tag) || "tabindex" in props) element.setAttribute("data-lm-suppress-shortcuts", "true");
  for (const [name, value] of Object.entries(props)) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "text") {
      element.textContent = value;
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/**
 * Replace what is in an element.
 * @param {HTMLElement} element
 * @param {...(Node|string|null)} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...children.filter((child) => child !== null));
}
