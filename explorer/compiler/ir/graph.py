"""Nodes, regions and the whole graph of a kernel.

A graph is a tree of regions: ``root`` is the kernel's body, each loop op has a body of its own. A
node in a body may use nodes of the regions around it directly.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from explorer.compiler.errors import MissingFact
from explorer.compiler.ir.types import MemoryType, TileType
from explorer.compiler.location import Location

if TYPE_CHECKING:
    from explorer.compiler.ir.index import Index
    from explorer.compiler.ir.op import Op
    from explorer.compiler.record import NodeView

NodeType = TileType | MemoryType | None
"""None: the node has no result of its own (a write, a loop, a barrier)."""


@dataclass(eq=False)
class Node:
    """One operation: its op and what the compiler knows about it."""

    name: str
    op: Op
    type: NodeType = None
    typed: bool = False
    index: Index | None = None
    copy: dict[str, int] = field(default_factory=dict[str, int])
    origin: str | None = None
    location: Location | None = None
    view: tuple[tuple[object, ...], NodeView] | None = None
    """The last picture taken of the node, for ``snapshot``."""

    @property
    def operands(self) -> tuple[Node, ...]:
        """Operands in field order, repeats kept."""
        return self.op.operands

    @property
    def tile(self) -> TileType:
        """The type of the value in registers."""
        if isinstance(self.type, TileType):
            return self.type
        raise MissingFact("value type", self.name, "infer-types")

    @property
    def dims(self) -> tuple[str, ...]:
        """Dims that the node is spread along: its value's, or those of the value it writes."""
        return self.op.spread(self)

    @property
    def placed(self) -> Index:
        """The index."""
        if self.index is None:
            raise MissingFact("index", self.name, "infer-indices")
        return self.index

    def __repr__(self) -> str:
        return f"%{self.name}"


@dataclass(eq=False)
class Region:
    """A list of nodes in program order, with carried values coming in and going out."""

    name: str
    nodes: list[Node] = field(default_factory=list[Node])
    arguments: tuple[Node, ...] = ()
    yields: tuple[Node, ...] = ()

    def walk(self) -> Iterator[tuple[Region, Node]]:
        """All nodes here and in the loops inside, each with its region, in program order."""
        for node in list(self.nodes):
            yield self, node
            if (body := node.op.region) is not None:
                yield from body.walk()


O = TypeVar("O", bound="Op")


@dataclass
class TileGraph:
    """A kernel's graph. New nodes go to the end of the region last entered with ``building``."""

    kernel: str
    root: Region = field(default_factory=lambda: Region("root"))
    _taken: dict[str, int] = field(default_factory=lambda: {"root": 0})
    _region: Region | None = None
    _origin: Node | None = None

    def walk(self) -> Iterator[tuple[Region, Node]]:
        """All nodes with their regions, in program order, a loop before its body."""
        return self.root.walk()

    @property
    def nodes(self) -> Iterator[Node]:
        """All nodes in program order."""
        return (node for _, node in self.walk())

    def reserve(self, names: Iterable[str]) -> None:
        """Keep ``names`` for nodes that are added with ``exact_name``."""
        self._taken.update(dict.fromkeys(names, 0))

    def fresh(self, name: str) -> str:
        """A name that no node has yet: ``name``, ``name_1``, ..."""
        count = self._taken.get(name)
        if count is None:
            self._taken[name] = 0
            return name
        while True:
            count += 1
            made = f"{name}_{count}"
            if made not in self._taken:
                self._taken[name] = count
                self._taken[made] = 0
                return made

    @contextmanager
    def building(self, region: Region) -> Generator[Region]:
        """Let ``add`` append to ``region``."""
        outer, self._region = self._region, region
        try:
            yield region
        finally:
            self._region = outer

    @contextmanager
    def before(self, region: Region, node: Node) -> Generator[None]:
        """Let ``add`` insert into ``region`` just before ``node``."""
        with self.building(Region("")) as made:
            yield
        at = region.nodes.index(node)
        region.nodes[at:at] = made.nodes

    @contextmanager
    def replacing(self, node: Node) -> Generator[None]:
        """New nodes say that they come from ``node`` and take its place in the source."""
        outer, self._origin = self._origin, node
        try:
            yield
        finally:
            self._origin = outer

    def add(
        self,
        op: Op,
        *,
        name: str | None = None,
        exact_name: str | None = None,
        type: NodeType = None,  # noqa: A002 (the field's name)
        typed: bool = False,
        index: Index | None = None,
        copy: dict[str, int] | None = None,
        location: Location | None = None,
    ) -> Node:
        """Append a node for ``op``; its name defaults to the op's, made unique."""
        assert self._region is not None, "use building(region) first"
        origin = self._origin
        node = Node(
            exact_name or self.fresh(name or op.name.replace("-", "_")),
            op,
            type,
            typed or type is not None,
            index,
            copy or {},
            origin.name if origin is not None else None,
            location or (origin.location if origin is not None else None),
        )
        self._region.nodes.append(node)
        return node

    def emptied(self) -> TileGraph:
        """A graph for the same kernel with no nodes: what a rewriting pass fills."""
        return TileGraph(self.kernel)

    def become(self, other: TileGraph) -> None:
        """Take over the nodes of ``other``, in place."""
        self.root, self._taken = other.root, other._taken
