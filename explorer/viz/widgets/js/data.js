// The recording as it arrives from Python, unpacked into objects that know each other.

/**
 * @typedef {{id: number, name: string, copy: Record<string, number>, operands: number[],
 *   users: number[], index: Record<string, string>, which: string, stack: Stack}} KNode
 * @typedef {{number: number, key: string, label: string, op: string, family: string,
 *   symbol: string, type: string, attrs: Record<string, string>, line: number|null,
 *   dims: string[], nodes: KNode[], place: number[], scope: string, why: string}} Stack
 * @typedef {{start: number, end: number, kind: string, count: number, points: number[]}} Line
 * @typedef {{stack: number, axis: string, steps: number|null}} Box
 * @typedef {{stacks: Stack[], nodes: KNode[], byName: Map<string, KNode>, lines: Line[],
 *   boxes: Map<number, Box>}} Snapshot
 */

/**
 * Unpack a recording. See `explorer/viz/payload.py` for the rows.
 * @param {any} payload
 */
export function unpack(payload) {
  const snapshots = payload.snapshots.map((/** @type {any} */ s) => unpackSnapshot(s, payload.texts));
  const passes = payload.passes.map((/** @type {any} */ p) => ({
    ...p,
    before: snapshots[p.before],
    after: snapshots[p.after],
  }));
  return { ...payload, snapshots, passes };
}

/**
 * @param {any} row
 * @param {string[]} texts
 * @returns {Snapshot}
 */
function unpackSnapshot(row, texts) {
  /** @type {KNode[]} */
  const nodes = [];
  const stacks = row.stacks.map((/** @type {any} */ s, /** @type {number} */ number) => {
    const stack = { ...s, number, nodes: [] };
    for (const packed of s.nodes) {
      const node = unpackNode(packed, nodes.length, stack, texts);
      nodes.push(node);
      stack.nodes.push(node);
    }
    return stack;
  });
  for (const node of nodes) {
    for (const id of new Set(node.operands)) nodes[id].users.push(node.id);
  }
  const lines = row.lines.map((/** @type {any[]} */ l) => ({
    start: l[0], end: l[1], kind: l[2], count: l[3], points: l[4],
  }));
  const boxes = new Map(row.boxes.map((/** @type {Box} */ box) => [box.stack, box]));
  return { stacks, nodes, byName: new Map(nodes.map((n) => [n.name, n])), lines, boxes };
}

/**
 * @param {any[]} packed
 * @param {number} id
 * @param {Stack} stack
 * @param {string[]} texts
 * @returns {KNode}
 */
function unpackNode([name, copy, operands, index, which], id, stack, texts) {
  const lines = Object.entries(index).map(([dim, text]) => [dim, texts[/** @type {number} */ (text)]]);
  return { id, name, copy, operands, users: [], index: Object.fromEntries(lines), which: texts[which], stack };
}

/**
 * What a stack and its ancestors have in common in every snapshot: the pass and name of its birth.
 * @param {Stack} stack
 */
export function birth(stack) {
  return stack.key.split("/").slice(0, 2).join("/");
}

/**
 * The node that stands for `node` in another snapshot: the same copy of the same stack, else the
 * first of a stack with the same birth.
 * @param {KNode} node
 * @param {Snapshot} snapshot
 * @returns {KNode|undefined}
 */
export function counterpart(node, snapshot) {
  const same = snapshot.stacks.find((s) => s.key === node.stack.key);
  const kin = same ?? snapshot.stacks.find((s) => birth(s) === birth(node.stack));
  return kin?.nodes.find((n) => sameCopy(n, node)) ?? kin?.nodes[0];
}

/**
 * @param {KNode} a
 * @param {KNode} b
 */
function sameCopy(a, b) {
  return JSON.stringify(a.copy) === JSON.stringify(b.copy);
}

/**
 * `+3 ×12 −1`, nothing for zeros.
 * @param {Record<string, number>} counts
 * @param {Record<string, string[]>} differences kind -> [symbol, words]
 */
export function countsText(counts, differences) {
  return Object.entries(differences)
    .filter(([kind]) => counts[kind])
    .map(([kind, [symbol]]) => `${symbol}${counts[kind]}`)
    .join(" ");
}

/**
 * Milliseconds as people read them.
 * @param {number} ms
 */
export function timeText(ms) {
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`;
  if (ms >= 10) return `${Math.round(ms)} ms`;
  return ms >= 0.1 ? `${ms.toFixed(1)} ms` : `${Math.round(ms * 1000)} µs`;
}
