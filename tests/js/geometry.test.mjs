import assert from "node:assert/strict";
import { test } from "node:test";
import {
  around, arrange, between, cell, columnsOf, contains, fit, hit, startCamera, zoomed,
} from "../../explorer/viz/widgets/js/geometry.js";

const copies = (dims, counts) => {
  const nodes = [];
  for (let m = 0; m < counts[0]; m++) for (let n = 0; n < (counts[1] ?? 1); n++) nodes.push({ copy: { M: m, N: n } });
  return { dims, nodes };
};

/** A loop (0) with a node (1) inside, a stack (2) below it, another node (3) right of the stack. */
const snapshot = () => ({
  stacks: [
    { number: 0, key: "loop", place: [0, 0, 200, 100], nodes: [{}], dims: [] },
    { number: 1, key: "in", place: [25, 40, 150, 44], nodes: [{}], dims: [] },
    { number: 2, key: "many", place: [25, 140, 150, 44], ...copies(["M", "N"], [16, 16]) },
    { number: 3, key: "right", place: [200, 140, 150, 44], nodes: [{}], dims: [] },
    { number: 4, key: "below", place: [25, 220, 150, 44], nodes: [{}], dims: [] },
  ],
  lines: [
    { start: 1, end: 2, points: [100, 84, 100, 140] },
    { start: 2, end: 4, points: [100, 184, 100, 220] },
  ],
  boxes: new Map([[0, {}]]),
});

test("a closed picture stands where Python put it", () => {
  const { places, grids } = arrange(snapshot(), new Set());
  assert.deepEqual(places[2], { x: 25, y: 140, width: 150, height: 44 });
  assert.equal(grids.size, 0);
});

test("an opened stack pushes what is below down and what is beside aside", () => {
  const { places, grids } = arrange(snapshot(), new Set(["many"]));
  const grown = places[2];
  assert.equal(grown.y, 140);
  assert.ok(places[3].x >= grown.x + grown.width);
  assert.ok(places[4].y >= grown.y + grown.height);
  assert.deepEqual([places[0].y, places[1].y], [0, 40]);
  assert.equal(grids.get(2).columns, 16);
});

test("lines stay joined to their ends when a stack opens", () => {
  const { places, lines } = arrange(snapshot(), new Set(["many"]));
  assert.equal(lines[1][1], places[2].y + places[2].height);
  assert.equal(lines[1].at(-1), places[4].y);
  assert.deepEqual(lines[0], [100, 84, 100, 140]);
});

test("a loop grows with a stack that opens inside it", () => {
  const scene = snapshot();
  Object.assign(scene.stacks[1], copies(["M", "N"], [8, 8]));
  const { places } = arrange(scene, new Set(["in"]));
  assert.ok(places[1].x >= places[0].x);
  assert.ok(places[1].x + places[1].width <= places[0].x + places[0].width);
  assert.ok(places[1].y + places[1].height <= places[0].y + places[0].height);
  assert.ok(places[2].y >= places[0].y + places[0].height);
});

test("opening one copy alone changes nothing", () => {
  assert.deepEqual(arrange(snapshot(), new Set(["right"])).places, arrange(snapshot(), new Set()).places);
});

test("the grid of copies follows the last dim where it fits", () => {
  assert.equal(columnsOf(copies(["M", "N"], [4, 16])), 16);
  assert.equal(columnsOf(copies(["M"], [4])), 4);
  assert.equal(columnsOf(copies(["M"], [64])), 8);
  assert.equal(columnsOf(copies(["M"], [256])), 16);
});

test("cells do not overlap and fill rows first", () => {
  const grid = { rect: { x: 0, y: 0, width: 176, height: 130 }, columns: 4 };
  const [a, b, c] = [0, 1, 4].map((at) => cell(grid, at, 16));
  assert.equal(b.x, a.x + a.width);
  assert.equal(c.y, a.y + a.height);
  assert.ok(cell(grid, 15, 16).y + cell(grid, 15, 16).height <= 130);
});

test("a click finds the node before the loop around it, and the copy in an opened stack", () => {
  const scene = snapshot();
  const open = arrange(scene, new Set(["many"]));
  assert.equal(hit(scene, open, 30, 45).stack.key, "in");
  assert.equal(hit(scene, open, 5, 5).stack.key, "loop");
  const c = cell(open.grids.get(2), 17, 256);
  assert.equal(hit(scene, open, c.x + 1, c.y + 1).node, scene.stacks[2].nodes[17]);
  assert.equal(hit(scene, open, -500, -500), null);
});

test("fit shows everything and never magnifies", () => {
  const view = { width: 400, height: 300 };
  assert.equal(fit({ x: 0, y: 0, width: 10, height: 10 }, view).scale, 1);
  const { scale, x } = fit({ x: 100, y: 0, width: 800, height: 100 }, view);
  assert.equal(scale, 376 / 800);
  assert.ok(x < 100);
});

test("the first camera can be read: it shows what changed rather than everything", () => {
  const all = { x: 0, y: 0, width: 400, height: 9000 };
  const marked = { x: 0, y: 5000, width: 100, height: 100 };
  const camera = startCamera(all, marked, { width: 500, height: 500 });
  assert.ok(camera.scale >= 0.5);
  assert.ok(camera.y < 5000 && camera.y + 500 / camera.scale > 5100);
});

test("what does not fit begins at its left edge while what changed can be seen from there", () => {
  const view = { width: 500, height: 500 };
  const all = { x: 100, y: 0, width: 3000, height: 400 };
  const near = startCamera(all, { x: 300, y: 0, width: 100, height: 100 }, view);
  assert.ok(near.x < 100 && near.x > 60);
  const far = startCamera(all, { x: 2900, y: 0, width: 200, height: 100 }, view);
  assert.ok(far.x < 2900 && far.x + 500 / far.scale > 3100);
  assert.ok(far.x + 500 / far.scale < 3140);
});

test("a picture that fits leaves room for the pane's title", () => {
  const { y, scale } = fit({ x: 0, y: 0, width: 100, height: 2000 }, { width: 400, height: 300 });
  assert.ok((0 - y) * scale > 20);
  assert.ok((2000 - y) * scale < 300);
});

test("zooming keeps the point under the pointer", () => {
  const at = { x: 30, y: 40 };
  const before = { x: 5, y: 6, scale: 1 };
  const after = zoomed(before, 2, at);
  assert.equal(at.x / after.scale + after.x, at.x / before.scale + before.x);
  assert.equal(zoomed(before, 1e9, at).scale, 4);
});

test("rectangles: around, between, contains", () => {
  const [a, b] = [{ x: 0, y: 0, width: 2, height: 2 }, { x: 4, y: 6, width: 2, height: 2 }];
  assert.deepEqual(around([a, b]), { x: 0, y: 0, width: 6, height: 8 });
  assert.deepEqual(between(a, b, 0.5), { x: 2, y: 3, width: 2, height: 2 });
  assert.ok(contains(a, 2, 2) && !contains(a, 3, 0));
});
