"""Places: nothing overlaps, lines go down, what stays in the graph stays in its place."""

from __future__ import annotations

import itertools
import time

import pytest

from explorer.viz.layered import Sides, place
from explorer.viz.layout import Layout, Plan, Rect, arrange
from explorer.viz.model import History
from explorer.viz.scene import scenes
from tests.viz import recordings

SIZE = (100.0, 40.0)


def chain(count: int) -> Plan:
    """Nodes one after the other."""
    names = [f"n{i}" for i in range(count)]
    return Plan(dict.fromkeys(names, SIZE), {}, tuple(itertools.pairwise(names)))


def tiles(m: int, n: int, k: int) -> Plan:
    """The expanded graph of a matrix product."""
    reads = [f"a{i}_{s}" for i in range(m) for s in range(k)]
    reads += [f"b{s}_{j}" for s in range(k) for j in range(n)]
    products = [f"p{i}_{j}_{s}" for i in range(m) for j in range(n) for s in range(k)]
    edges: list[tuple[str, str]] = []
    for i, j, s in itertools.product(range(m), range(n), range(k)):
        edges += [(f"a{i}_{s}", f"p{i}_{j}_{s}"), (f"b{s}_{j}", f"p{i}_{j}_{s}")]
        edges += [(f"p{i}_{j}_{s - 1}", f"p{i}_{j}_{s}")] if s else []
    return Plan(dict.fromkeys([*reads, *products], SIZE), {}, tuple(edges))


def overlap(a: Rect, b: Rect) -> bool:
    """Whether two rectangles share an area."""
    return (
        a.x < b.x + b.width
        and b.x < a.x + a.width
        and a.y < b.y + b.height
        and b.y < a.y + a.height
    )


def inside(a: Rect, b: Rect) -> bool:
    """Whether ``a`` lies within ``b``."""
    return (
        b.x <= a.x
        and b.y <= a.y
        and a.x + a.width <= b.x + b.width
        and a.y + a.height <= b.y + b.height
    )


def shifts(before: Layout, after: Layout) -> dict[str, float]:
    """How far sideways each common node moved, in pixels."""
    common = before.places.keys() & after.places.keys()
    return {n: abs(before.places[n].x - after.places[n].x) for n in common}


def test_a_chain_is_a_straight_line_downwards() -> None:
    layout = arrange(chain(5))
    assert len({r.middle for r in layout.places.values()}) == 1
    assert [layout.places[f"n{i}"].y for i in range(5)] == sorted(
        r.y for r in layout.places.values()
    )


@pytest.mark.parametrize("plan", [tiles(3, 4, 2), chain(9)], ids=["tiles", "chain"])
def test_nodes_do_not_overlap(plan: Plan) -> None:
    layout = arrange(plan)
    for a, b in itertools.combinations(layout.places.values(), 2):
        assert not overlap(a, b)


def test_lines_go_down_from_lower_to_upper_sides() -> None:
    layout = arrange(tiles(2, 3, 3))
    for (start, end), route in layout.routes.items():
        heights = [y for _, y in route]
        assert heights == sorted(heights)
        assert heights[0] == layout.places[start].y + layout.places[start].height
        assert heights[-1] == layout.places[end].y


def test_repeated_edges_and_edges_to_itself_are_harmless() -> None:
    plan = Plan({"a": SIZE, "b": SIZE}, {}, (("a", "b"), ("a", "b")))
    assert arrange(plan).places["b"].y > arrange(plan).places["a"].y
    assert place({"a": SIZE}, [("a", "a")]).height == 40


def test_an_empty_graph_is_an_empty_picture() -> None:
    assert arrange(Plan({}, {}, ())).bounds == Rect(0, 0, 0, 0)


def test_sides_hold_the_first_and_the_last_layer() -> None:
    sizes = dict.fromkeys(["in", "x", "free", "out"], SIZE)
    flat = place(sizes, [("in", "x"), ("x", "out")], Sides(("in",), ("out",)))
    assert flat.top["in"] < min(flat.top["x"], flat.top["free"])
    assert flat.top["out"] > max(flat.top["x"], flat.top["free"])


def test_loops_hold_their_bodies_and_nothing_else() -> None:
    for scene in scenes(History(recordings.row_max_add((2, 4)))):
        [box] = scene.boxes
        for stack in scene.stacks:
            if stack.key == box.key:
                continue
            here = scene.layout.places[stack.key]
            within = stack.first.region == box.region.name
            assert inside(here, box.place) if within else not overlap(here, box.place)


def test_loops_nest() -> None:
    parents = {"outer": None, "inner": "outer", "x": "inner", "y": "outer", "z": None}
    plan = Plan(dict.fromkeys("xyz", SIZE), parents, (("x", "y"), ("z", "x"), ("y", "z2")))
    plan = Plan({**plan.sizes, "z2": SIZE}, {**parents, "z2": None}, plan.edges)
    places = arrange(plan).places
    assert inside(places["x"], places["inner"])
    assert inside(places["inner"], places["outer"])
    assert not overlap(places["z"], places["outer"])


def test_the_same_graph_keeps_its_picture() -> None:
    first = arrange(tiles(3, 3, 2))
    assert arrange(tiles(3, 3, 2), first) is first


def test_a_new_node_leaves_the_others_where_they_are() -> None:
    first = arrange(tiles(3, 3, 2))
    more = Plan({**first.plan.sizes, "w": SIZE}, {}, (*first.plan.edges, ("p2_2_1", "w")))
    assert max(shifts(first, arrange(more, first)).values()) < 1


def test_passes_move_nodes_little_sideways() -> None:
    pictures = scenes(History(recordings.row_max_add((2, 4))))
    for before, after in itertools.pairwise(pictures):
        assert max(shifts(before.layout, after.layout).values()) < 30


@pytest.mark.parametrize("plan", [tiles(16, 16, 16), chain(5000)], ids=["tiles", "chain"])
def test_five_thousand_nodes_are_laid_out_in_time(plan: Plan) -> None:
    assert len(plan.sizes) > 4600
    start = time.process_time()
    arrange(plan)
    assert time.process_time() - start < 3
