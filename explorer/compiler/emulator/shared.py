"""Shared memory of the workgroups that run together, and who touched it since the last barrier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emulator.errors import NeverWritten, OutsideSharedMemory, SharedMemoryRace
from explorer.compiler.emulator.waves import Waves

Array = NDArray[Any]

_NOBODY, _SEVERAL = -1, -2


class SharedMemory:
    """Bytes of every workgroup, one after the other."""

    def __init__(self, workgroups: int, size: int, waves_per_workgroup: int) -> None:
        """Make it, never written.

        Args:
            workgroups: how many run together.
            size: bytes of each.
            waves_per_workgroup: with a single wave there are no races.
        """
        self.size = size
        self.stride = -(-max(size, 4) // 16) * 16
        self.bytes = np.full(workgroups * self.stride, 0xFF, np.uint8)
        self.words = self.bytes.view(np.uint32)
        self._per_workgroup = waves_per_workgroup
        self._written = np.zeros(self.bytes.size, bool)
        self._writer = np.full(self.bytes.size, _NOBODY, np.int32)
        self._reader = np.full(self.bytes.size, _NOBODY, np.int32)

    def forget(self, workgroup: int) -> None:
        """A barrier of a workgroup: what was touched before it no longer matters."""
        own = slice(workgroup * self.stride, (workgroup + 1) * self.stride)
        self._writer[own] = _NOBODY
        self._reader[own] = _NOBODY

    def place(
        self, waves: Waves, address: Array, active: Array, size: int, *, store: bool
    ) -> Array:
        """Check an access and give the places of its bytes; lanes that do nothing get place 0.

        Args:
            waves: whose selected waves access it.
            address: int64 [selected wave, lane], bytes from the start of the workgroup's memory.
            active: bool of the same shape.
            size: bytes of each lane.
            store: whether it writes.

        Raises:
            OutsideSharedMemory: a lane accesses what is not there.
            NeverWritten: a lane loads what nobody stored.
            SharedMemoryRace: another wave touched it since the last barrier.
        """
        outside = active & ((address < 0) | (address + size > self.size))
        if outside.any():
            row, lane = map(int, np.argwhere(outside)[0])
            waves.fail(
                OutsideSharedMemory,
                row,
                lane,
                what="store" if store else "load",
                size=size,
                address=int(address[row, lane]),
                limit=self.size,
            )
        numbers = waves.wave_numbers()
        base = (numbers // self._per_workgroup) * self.stride
        place = np.where(active, address + base[:, None], 0)
        rows, lanes = np.nonzero(active)
        touched = place[rows, lanes][:, None] + np.arange(size)
        if store:
            self._written[touched] = True
        else:
            self._require_written(waves, touched, rows, lanes)
        if self._per_workgroup > 1:
            self._check_race(waves, touched, rows, lanes, numbers[rows], store=store)
        return place

    def _require_written(self, waves: Waves, touched: Array, rows: Array, lanes: Array) -> None:
        missing = ~self._written[touched]
        if missing.any():
            first, byte = map(int, np.argwhere(missing)[0])
            offset = int(touched[first, byte]) % self.stride
            what = f"byte {offset} of shared memory"
            waves.fail(NeverWritten, int(rows[first]), int(lanes[first]), what=what)

    def _check_race(
        self, waves: Waves, touched: Array, rows: Array, lanes: Array, wave: Array, *, store: bool
    ) -> None:
        mine = np.broadcast_to(wave[:, None].astype(np.int32), touched.shape)
        self._refuse(waves, touched, rows, lanes, mine, self._writer, "wrote", store=store)
        if store:
            self._refuse(waves, touched, rows, lanes, mine, self._reader, "read", store=store)
            self._writer[touched] = mine
            # Two waves of this very instruction may have met in a byte; the later one is noted.
            self._refuse(waves, touched, rows, lanes, mine, self._writer, "wrote", store=store)
            return
        before = self._reader[touched]
        self._reader[touched] = mine
        met = (self._reader[touched] != mine) | ((before != _NOBODY) & (before != mine))
        self._reader[touched[met]] = _SEVERAL

    def _refuse(
        self,
        waves: Waves,
        touched: Array,
        rows: Array,
        lanes: Array,
        mine: Array,
        who: Array,
        did: str,
        *,
        store: bool,
    ) -> None:
        owner = who[touched]
        clash = (owner != _NOBODY) & (owner != mine)
        if not clash.any():
            return
        first, byte = map(int, np.argwhere(clash)[0])
        other = int(owner[first, byte])
        waves.fail(
            SharedMemoryRace,
            int(rows[first]),
            int(lanes[first]),
            what="store" if store else "load",
            address=int(touched[first, byte]) % self.stride,
            other="another" if other == _SEVERAL else other % self._per_workgroup,
            other_did=did,
        )
