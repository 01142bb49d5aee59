# SPDX-License-Identifier: Apache-2.0
"""MSCCL++'s channels: groups of ranks, connections, memory and port channels whose handles go to kernels.

    import gshmem.mscclpp as mscclpp
    group = mscclpp.CommGroup(interfaceIpPortTrio='127.0.0.1:50000', rank=rank, size=2)
    connections = group.make_connection([1 - rank], mscclpp.Transport.CudaIpc)
    channels = group.make_memory_channels(array, connections)
    kernel(1, 32, channels[1 - rank].device_handle().raw)     # of gshmem.compile(source, options=mscclpp.options())

Calls of a group are collective over the ranks that they name. The first use on a machine compiles a file, which takes a
compiler for C++20. Errors are raised as gshmem.Error with the library's text."""
from __future__ import annotations

import ctypes
import enum
import glob
import os

from . import _arrays
from ._errors import Error
from ._library import package_folder
from ._start import waiting

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from typing import Any, Iterable

    from ._types import Array

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_unit = None


class Transport(enum.IntEnum):
    """How a connection reaches the other rank: CudaIpc by mapped memory, the others over the network."""
    CudaIpc = 1
    IB0 = 2
    IB1 = 3
    IB2 = 4
    IB3 = 5
    IB4 = 6
    IB5 = 7
    IB6 = 8
    IB7 = 9
    Ethernet = 10


def _is_on_gpu():
    return _arrays.library.gshmemx_device_name() != b'cpu'


def _include():
    return os.path.join(package_folder() or '', 'include', 'gshmem', 'dialects', 'mscclpp', 'include')


def options() -> list[str]:
    """For gshmem.compile: kernels may include <mscclpp/memory_channel_device.hpp> and the like."""
    if not _is_on_gpu():
        return ['-std=c++20', f'-I{_include()}']
    return [f'-I{_include()}', f'-I{os.path.join(_FOLDER, "_nvrtc", "channels")}']


def _library():
    global _unit
    if _unit is None:
        from ._kernels import _cuda_includes, _cuda_runtime, _include_folders, load_compiled
        include = _include_folders()
        found = glob.glob(os.path.join(package_folder(), 'lib', '**', 'libgshmem_mscclpp.so.0'), recursive=True)
        if not found:
            raise Error('mscclpp: this gshmem was built without libgshmem_mscclpp')
        if _is_on_gpu():
            folder, name = os.path.split(_cuda_runtime('mscclpp'))
            device = [*[f'-I{f}' for f in _cuda_includes()], f'-L{folder}', f'-Wl,-rpath,{folder}', f'-l:{name}']
        else:
            device = ['-DGSHMEM_DEVICE_CODE=1', f'-I{include}/cpu/shim']
        with open(os.path.join(_FOLDER, '_mscclpp', 'channels.cpp'), encoding='utf-8') as file:
            unit, _ = load_compiled('gshmem.mscclpp', [
                '-std=c++20', '-O1', '-fvisibility=hidden', f'-I{_include()}', f'-I{include}',
                '-Wl,--no-as-needed', f'-L{os.path.dirname(found[0])}', f'-Wl,-rpath,{os.path.dirname(found[0])}',
                '-l:libgshmem_mscclpp.so.0', *device], file.read(), os.stat(found[0]).st_mtime_ns)
        p, i, n = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
        for name, (result, arguments) in {
                'failure': (ctypes.c_char_p, []), 'unique_id': (i, [p]), 'group': (p, [i, i, ctypes.c_char_p, p]),
                'end': (None, [p]), 'barrier': (i, [p]), 'connect': (i, [p, p, i, i, p]),
                'memory': (i, [p, p, n, p, i, p]), 'memory_handle': (i, [p, p, n]), 'service': (p, [p, i]),
                'run_service': (i, [p, i]), 'port': (i, [p, p, p, n, p, i, p]), 'port_handle': (i, [p, p, n])}.items():
            function = getattr(unit, f'gshmem_channels_{name}')
            function.restype, function.argtypes = result, arguments
        _unit = unit
    return _unit


def _call(name, *arguments):
    function = getattr(_library(), f'gshmem_channels_{name}')
    with waiting('gshmem.mscclpp'):  # the other ranks may come late
        result = function(*arguments)
    if not result:
        raise Error(f'mscclpp: {_unit.gshmem_channels_failure().decode(errors="replace")}')
    return result


def create_unique_id() -> bytes:
    """128 bytes by which the ranks of a group find each other; the process serves the rendezvous until all have met."""
    out = ctypes.create_string_buffer(128)
    _call('unique_id', out)
    return out.raw


class DeviceHandle:
    """What a kernel gets: raw, the bytes of the parameter."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw


class _Channel:
    """A channel to one other rank."""

    def __init__(self, group, address, kind):
        self._group, self._address, self._kind = group, address, kind

    def device_handle(self) -> DeviceHandle:
        """For a parameter of type mscclpp::MemoryChannelDeviceHandle or mscclpp::PortChannelDeviceHandle."""
        self._group._need()
        room = ctypes.create_string_buffer(512)
        size = _call(f'{self._kind}_handle', self._address, room, 512)
        return DeviceHandle(room.raw[:size])


class ProxyService:
    """The thread that does what kernels ask of port channels. It belongs to a group."""

    def __init__(self, group: CommGroup, fifo_size: int = 512) -> None:
        group._need()
        self._group, self._address = group, _call('service', group._address, fifo_size)

    def start_proxy(self) -> None:
        """Until then kernels wait."""
        self._group._need()
        _call('run_service', self._address, 1)

    def stop_proxy(self) -> None:
        self._group._need()
        _call('run_service', self._address, 0)


class CommGroup:
    """Ranks that meet at 'ip:port' or 'interface:ip:port', where rank 0 listens, or by the bytes of create_unique_id.
    No job of gshmem is needed. close(), or the end of a `with`, frees its connections and channels; kernels must be
    done with them."""

    def __init__(self, interfaceIpPortTrio: str | None = None, rank: int | None = None, size: int | None = None,
                 unique_id: bytes | None = None) -> None:
        self._address = None
        if rank is None or size is None or not 0 <= rank < size:
            raise ValueError(f'CommGroup: rank is {rank} and size is {size}')
        if (interfaceIpPortTrio is None) == (unique_id is None):
            raise ValueError('CommGroup: give either interfaceIpPortTrio or unique_id')
        if unique_id is not None and len(unique_id) != 128:
            raise ValueError(f'CommGroup: unique_id has {len(unique_id)} bytes, not 128')
        self.my_rank, self.nranks = rank, size
        self._address = _call('group', rank, size, interfaceIpPortTrio and interfaceIpPortTrio.encode(), unique_id)
        self._kept = []  # arrays of channels

    def _need(self):
        if self._address is None:
            raise Error('mscclpp: the group is closed')

    def __enter__(self) -> CommGroup:
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    def close(self) -> None:
        if self._address is not None:
            with waiting('gshmem.mscclpp'):
                _unit.gshmem_channels_end(self._address)
            self._address = None

    def barrier(self) -> None:
        """Waits for all ranks."""
        self._need()
        _call('barrier', self._address)

    def make_connection(self, ranks: Iterable[int], transport: Transport = Transport.CudaIpc) -> dict[int, Any]:
        """{rank: connection} with each of these ranks, which make the same call."""
        self._need()
        ranks = list(ranks)
        if not all(isinstance(r, int) and 0 <= r < self.nranks for r in ranks) or len(set(ranks)) != len(ranks):
            raise ValueError(f'make_connection: ranks are {ranks}, of {self.nranks}')
        out = (ctypes.c_void_p * max(1, len(ranks)))()
        _call('connect', self._address, (ctypes.c_int * max(1, len(ranks)))(*ranks), len(ranks), int(transport), out)
        return dict(zip(ranks, out))

    def _make(self, call, kind, array, connections, *service):
        self._need()
        address, nbytes, _ = _arrays.describe(call, 'array', array, False)
        addresses = (ctypes.c_void_p * max(1, len(connections)))(*connections.values())
        out = (ctypes.c_void_p * max(1, len(connections)))()
        _call(kind, self._address, *service, address, nbytes, addresses, len(connections), out)
        self._kept.append(array)
        return {rank: _Channel(self, channel, kind) for rank, channel in zip(connections, out)}

    def make_memory_channels(self, array: Array, connections: dict[int, Any]) -> dict[int, _Channel]:
        """{rank: channel}: the other rank's array is its destination, this array its source. The other ranks make the
        same call with arrays of their own, of the same size."""
        return self._make('make_memory_channels', 'memory', array, connections)

    def make_port_channels(self, proxy_service: ProxyService, array: Array,
                           connections: dict[int, Any]) -> dict[int, _Channel]:
        """As make_memory_channels; the copies are made by the service."""
        return self._make('make_port_channels', 'port', array, connections, proxy_service._address)

    make_sm_channels = make_memory_channels  # the names of 0.6 and before

    def make_proxy_channels(self, proxy_service: ProxyService, array: Array,
                            connections: dict[int, Any]) -> dict[int, _Channel]:
        """The name of 0.6 and before of make_port_channels."""
        return self.make_port_channels(proxy_service, array, connections)


MscclppGroup = CommGroup  # the name of 0.5
