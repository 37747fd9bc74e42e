import assert from "node:assert/strict";
import { test } from "node:test";
import { exceeds, overview, revealing } from "../../explorer/viz/widgets/js/geometry.js";
import { following } from "../../explorer/viz/widgets/js/player.js";
import { matcher, search, stepped } from "../../explorer/viz/widgets/js/search.js";

const node = (name, op) => ({ name, stack: { label: name.split("_")[0], op } });
const nodes = [node("read_1", "read"), node("x.y", "add"), node("max_fold", "fold"), node("sum_fold", "fold")];
const names = (query) => search({ nodes }, query).nodes.map((n) => n.name);

test("a search finds parts of names and operations, in any case", () => {
  assert.deepEqual(names("READ"), ["read_1"]);
  assert.deepEqual(names("fold"), ["max_fold", "sum_fold"]);
  assert.deepEqual(names("add"), ["x.y"]);
  assert.deepEqual(names("x.y"), ["x.y"]);
  assert.deepEqual(names("r.a"), []);
});

test("between slashes stands a regular expression, also while it is typed", () => {
  assert.deepEqual(names("/^(max|sum)_/"), ["max_fold", "sum_fold"]);
  assert.deepEqual(names("/r.a"), ["read_1"]);
  assert.equal(search({ nodes }, "/(").problem, "not a regular expression");
});

test("nothing looked for is nothing found", () => {
  assert.equal(matcher("  "), null);
  assert.equal(matcher("/"), null);
  assert.deepEqual(names(""), []);
});

test("stepping goes round and starts at an end", () => {
  const [a, b, c] = nodes;
  assert.equal(stepped([a, b, c], null, 1), a);
  assert.equal(stepped([a, b, c], null, -1), c);
  assert.equal(stepped([a, b, c], c, 1), a);
  assert.equal(stepped([a, b, c], a, -1), c);
});

test("playing leaves out what has nothing to show", () => {
  const passes = ["changed", "unchanged", "skipped", "changed", "failed"].map((status) => ({ status }));
  assert.equal(following(passes, passes[0]), passes[3]);
  assert.equal(following(passes, passes[3]), passes[4]);
  assert.equal(following(passes, passes[4]), null);
});

test("the overview shows everything, and a node out of sight is brought to the middle", () => {
  const bounds = { x: 100, y: 0, width: 300, height: 2000 };
  const view = { width: 150, height: 110 };
  const small = overview(bounds, view);
  assert.ok(!exceeds(bounds, small, view));
  const camera = { x: 0, y: 0, scale: 1 };
  assert.ok(exceeds(bounds, camera, view));
  assert.equal(revealing({ x: 10, y: 10, width: 50, height: 50 }, camera, view), camera);
  assert.deepEqual(revealing({ x: 1000, y: 1000, width: 50, height: 10 }, camera, view), { x: 950, y: 950, scale: 1 });
});
