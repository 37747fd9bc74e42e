import assert from "node:assert/strict";
import { test } from "node:test";
import { birth, countsText, counterpart, timeText, unpack } from "../../explorer/viz/widgets/js/data.js";
import { resultText, tickAt } from "../../explorer/viz/widgets/js/controls.js";
import { caption } from "../../explorer/viz/widgets/js/painting.js";
import { outline } from "../../explorer/viz/widgets/js/shapes.js";

const stack = (key, nodes) => ({ key, label: key, op: "add", dims: [], attrs: {}, place: [0, 0, 1, 1], nodes });
const payload = () => ({
  texts: ["lane*2", "This is the copy N = 1."],
  snapshots: [
    { stacks: [], boxes: [], lines: [] },
    {
      stacks: [
        stack("0/read/root/read/0", [["read", { N: 0 }, [], { N: 0 }, 1], ["read_1", { N: 1 }, [], {}, 1]]),
        stack("0/add/root/add/0", [["add", { N: 0 }, [0, 0], {}, 1], ["add_1", { N: 1 }, [1], {}, 1]]),
      ],
      boxes: [{ stack: 0, axis: "N", steps: 4 }],
      lines: [[0, 1, "value", 2, [0, 0, 1, 1]]],
    },
    {
      stacks: [stack("0/add/root/fold/0", [["fold", { N: 0 }, [], {}, 1], ["fold_1", { N: 1 }, [], {}, 1]])],
      boxes: [],
      lines: [],
    },
  ],
  passes: [{ name: "expand", before: 0, after: 1 }],
});

test("unpacking joins nodes to their stack, texts, operands and users", () => {
  const [, snapshot] = unpack(payload()).snapshots;
  const read = snapshot.byName.get("read");
  assert.equal(read.index.N, "lane*2");
  assert.equal(read.which, "This is the copy N = 1.");
  assert.equal(read.stack.key, "0/read/root/read/0");
  assert.deepEqual(read.users, [snapshot.byName.get("add").id]);
  assert.deepEqual(snapshot.boxes.get(0), { stack: 0, axis: "N", steps: 4 });
});

test("passes share their snapshots", () => {
  const recording = unpack(payload());
  assert.equal(recording.passes[0].after, recording.snapshots[1]);
});

test("the counterpart is the same copy, of the same stack or of what was made from it", () => {
  const [, one, two] = unpack(payload()).snapshots;
  assert.equal(counterpart(one.byName.get("add_1"), one), one.byName.get("add_1"));
  assert.equal(counterpart(one.byName.get("add_1"), two).name, "fold_1");
  assert.equal(counterpart(one.byName.get("read"), two), undefined);
});

test("a birth is the pass and the name that began a chain", () => {
  assert.equal(birth({ key: "3/max/loop/fold/0" }), "3/max");
});

test("counts are signs and numbers, zeros left out", () => {
  const signs = { added: ["+", ""], copied: ["×", ""], removed: ["−", ""] };
  assert.equal(countsText({ added: 2, copied: 0, removed: 1 }, signs), "+2 −1");
});

test("times are short", () => {
  assert.deepEqual([0.05, 2.34, 12.6, 1500].map(timeText), ["50 µs", "2.3 ms", "13 ms", "1.50 s"]);
});

test("a result says what matters, a missing one says nothing", () => {
  const good = { ok: true, max_error: 1.2e-7, seconds: 3.4e-4, device: "local", message: "" };
  assert.equal(resultText(good), "✓ matches · largest error 1.2e-7 · 0.3 ms · local");
  assert.equal(resultText({ ok: false, max_error: 0, device: "hip" }), "✗ differs · largest error 0 · hip");
  assert.equal(resultText({}), "");
  assert.equal(resultText({ ok: null, message: "not run" }), "not run");
});

test("ticks stand under the middle of the thumb", () => {
  assert.equal(tickAt(0, 4), "calc(8px + 0 * (100% - 16px))");
  assert.equal(tickAt(3, 4), "calc(8px + 1 * (100% - 16px))");
  assert.equal(tickAt(0, 1), "calc(8px + 0 * (100% - 16px))");
});

test("captions: type, offset, short numbers, else the op", () => {
  const of = (type, attrs) => caption({ type, attrs, op: "write" });
  assert.equal(of("f32[M]", { value: "-1000000.0" }), "f32[M] · -1e+6");
  assert.equal(of("f32[]", { value: "1.442695" }), "f32[] · 1.443");
  assert.equal(of("f32[M]", { offset: "16" }), "f32[M] · 16");
  assert.equal(of("memory f32[M, N]", {}), "f32[M, N]");
  assert.equal(of("", {}), "write");
});

test("shapes stay inside of their rectangle", () => {
  const r = { x: 10, y: 20, width: 150, height: 44 };
  for (const shape of ["slant", "funnel", "hexagon", "arrow", "tab"]) {
    for (const [x, y] of outline(shape, r)) {
      assert.ok(x >= 10 && x <= 160 && y >= 20 && y <= 64, shape);
    }
  }
  assert.equal(outline("round", r), null);
});
