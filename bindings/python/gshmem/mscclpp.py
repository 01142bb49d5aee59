# SPDX-License-Identifier: Apache-2.0
"""MSCCL++'s channels: groups of ranks, connections, memory and port channels whose handles go to kernels.

    import gshmem.mscclpp as mscclpp
    group = mscclpp.CommGroup(interfaceIpPortTrio='127.0.0.1:50000', rank=rank, size=2)
    connections = group.make_connection([1 - rank], mscclpp.Transport.CudaIpc)
    channels = group.make_memory_channels(array, connections)
    kernel(1, 32, channels[1 - rank].device_handle().raw)     # of gshmem.compile(source, options=mscclpp.options())

A CommGroup does in one call for several ranks what the objects below it do one by one: TcpBootstrap, Communicator,
Connection, RegisteredMemory, Semaphore, MemoryChannel, ProxyService, PortChannel. Calls of a group are collective over
the ranks that they name. Sizes and offsets are in bytes. The first use on a machine compiles a file, which takes a
compiler for C++20. Errors are raised as gshmem.Error with the library's text."""
from __future__ import annotations

import ctypes
import enum
import glob
import os

from . import _arrays
from ._errors import Error
from ._library import library as _c_library
from ._library import package_folder
from ._start import waiting, whole_number

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from typing import Any, Iterable

    from ._types import Array

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_unit = None


class Transport(enum.IntEnum):
    """How a connection reaches the other rank: CudaIpc by mapped memory, the others over the network."""
    Unknown = 0
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

    def __or__(self, other: Any) -> TransportFlags:  # type: ignore[override]
        return TransportFlags(self) | other


class TransportFlags:
    """A set of transports: Transport.CudaIpc | Transport.IB0, or TransportFlags(Transport.CudaIpc)."""

    def __init__(self, *transports: Transport) -> None:
        self._bits = 0
        for transport in transports:
            self._bits |= 1 << Transport(transport)

    def has(self, transport: Transport) -> bool:
        return bool(self._bits >> Transport(transport) & 1)

    def __or__(self, other: Transport | TransportFlags) -> TransportFlags:
        both = TransportFlags()
        both._bits = self._bits | _bits_of('transports', other)
        return both

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (Transport, TransportFlags)) and self._bits == _bits_of('transports', other)

    def __hash__(self) -> int:
        return self._bits


def _bits_of(argument, transports):
    if isinstance(transports, TransportFlags):
        return transports._bits
    if isinstance(transports, Transport):
        return 1 << transports
    raise TypeError(f'mscclpp: {argument} is {transports!r}, not of Transport or TransportFlags')


class DeviceType(enum.IntEnum):
    """Where an end of a connection, and the semaphores on it, have their words."""
    Unknown = 0
    CPU = 1
    GPU = 2


class EndpointConfig:
    """What an end of a connection is to be. device: in the host's memory (CPU, for Host2HostSemaphore), or in that of
    the device that runs kernels (GPU, on the CPU device, too)."""

    def __init__(self, transport: Transport, device: DeviceType = DeviceType.GPU) -> None:
        if not isinstance(transport, Transport) or not isinstance(device, DeviceType):
            raise TypeError(f'EndpointConfig: transport is {transport!r} and device {device!r}')
        self.transport, self.device = transport, device


def _is_on_gpu():
    return _arrays.library.gshmemx_device_name() != b'cpu'


def _include():
    return os.path.join(package_folder() or '', 'include', 'gshmem', 'dialects', 'mscclpp', 'include')


def options() -> list[str]:
    """For gshmem.compile: kernels may include <mscclpp/memory_channel_device.hpp> and the like."""
    if not _is_on_gpu():
        return ['-std=c++20', f'-I{_include()}']
    return [f'-I{_include()}', f'-I{os.path.join(_FOLDER, "_nvrtc", "channels")}']


def _functions():
    p, i, u, n, w = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.c_uint64
    text, wide = ctypes.c_char_p, ctypes.c_int64
    handle = (i, [p, p, n])
    return {
        'failure': (text, []), 'unique_id': (i, [p]), 'bootstrap': (p, [i, i]), 'start_at': (i, [p, text, wide]),
        'start_by': (i, [p, p, wide]), 'barrier': (i, [p]), 'all_gather': (i, [p, p, i]), 'communicator': (p, [p]),
        'end': (None, [p]), 'register_memory': (p, [p, p, n, u]), 'send_memory': (i, [p, p, i, i]),
        'recv_memory': (p, [p, i, i]), 'connect': (p, [p, i, i, i, i, i]), 'build_semaphore': (p, [p, p, i, i]),
        'get_memory': (p, [p, p]), 'get_connection': (p, [p, p]), 'get_semaphore': (p, [p, p]),
        'rank_and_tag_of': (i, [p, p, p]), 'memory_facts': (i, [p, p]), 'serialize': (i, [p, p, n]),
        'deserialize': (p, [text, n]), 'connection_facts': (i, [p, p]), 'write': (i, [p, p, w, p, w, w]),
        'update': (i, [p, p, w, p, w]), 'flush': (i, [p, wide]), 'semaphore_part': (p, [p, p, i]),
        'memory_semaphore': (p, [p, p]), 'memory_semaphore_handle': handle, 'device_semaphore': (p, [p, p]),
        'device_semaphore_handle': handle, 'device_semaphore_signal': (i, [p]), 'host_semaphore': (p, [p, p]),
        'host_semaphore_signal': (i, [p]), 'host_semaphore_poll': (i, [p, p]), 'host_semaphore_wait': (i, [p, wide]),
        'memory': (p, [p, p, p, p, p]), 'memory_handle': handle, 'service': (p, [i]), 'run_service': (i, [p, i]),
        'add_semaphore': (i, [p, p, p]), 'build_and_add_semaphore': (i, [p, p, p, p]), 'add_memory': (i, [p, p, p]),
        'base_port': (p, [p, u]), 'base_port_handle': handle, 'port': (p, [p, u, u, u]), 'port_handle': handle,
        'send': (i, [p, p, i, i, i]), 'recv': (i, [p, p, i, i, i]), 'ranks_per_node': (i, [p, p]),
        'fifo': (p, [i]), 'fifo_handle': handle, 'fifo_poll': (i, [p, p]), 'fifo_pop': (i, [p]),
        'fifo_tail': (i, [p, p]), 'nvls_supported': (i, [p]), 'connect_nvls': (i, [p, p, i, n]),
        'nvls_connection': (i, [n, i])}


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
        _c_library.load_on_top(found[0])
        with open(os.path.join(_FOLDER, '_mscclpp', 'channels.cpp'), encoding='utf-8') as file:
            unit, _ = load_compiled('gshmem.mscclpp', [
                '-std=c++20', '-O1', '-fvisibility=hidden', f'-I{_include()}', f'-I{include}',
                '-Wl,--no-as-needed', f'-L{os.path.dirname(found[0])}', f'-Wl,-rpath,{os.path.dirname(found[0])}',
                '-l:libgshmem_mscclpp.so.0', *device], file.read(), os.stat(found[0]).st_mtime_ns)
        for name, (result, arguments) in _functions().items():
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


def _address(call, argument, object, kind):
    """Of an object of this module that can still be used."""
    if not isinstance(object, kind):
        raise TypeError(f'{call}: {argument} is {type(object).__name__}, not {kind.__name__}')
    object._need()
    return object._pointer


def _number(call, argument, value, least=0):
    return whole_number(call, argument, value, least, 1 << 63)


def _need_writable(call, argument, array):
    if not getattr(getattr(array, 'flags', None), 'writeable', True):
        raise ValueError(f'{call}: {argument} is read-only')


class DeviceHandle:
    """What a kernel gets: raw, the bytes of the parameter."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw


class _Object:
    """An object of the library. owner: the communicator, whose end is its end; None: it lives with the process."""

    def __init__(self, owner, pointer):
        self._owner, self._pointer = owner, pointer

    def _need(self):
        if self._owner is not None:
            self._owner._need()

    def _copied_handle(self, kind):
        self._need()
        room = ctypes.create_string_buffer(512)
        size = _call(f'{kind}_handle', self._pointer, room, 512)
        return DeviceHandle(room.raw[:size])


class TcpBootstrap(_Object):
    """Ranks that find each other. initialize is collective."""

    def __init__(self, rank: int, n_ranks: int) -> None:
        self._n_ranks = whole_number('TcpBootstrap', 'n_ranks', n_ranks, 1)
        self._rank = whole_number('TcpBootstrap', 'rank', rank, 0, self._n_ranks)
        super().__init__(None, _call('bootstrap', self._rank, self._n_ranks))

    @staticmethod
    def create(rank: int, n_ranks: int) -> TcpBootstrap:
        return TcpBootstrap(rank, n_ranks)

    create_unique_id = staticmethod(create_unique_id)

    def initialize(self, id: bytes | str, timeout_sec: int = 30) -> None:
        """id: the bytes of create_unique_id(), or 'ip:port' or 'interface:ip:port', where rank 0 listens. timeout_sec:
        also the limit of later waits."""
        if isinstance(id, str):
            _call('start_at', self._pointer, id.encode(), timeout_sec)
            return
        if not isinstance(id, bytes) or len(id) != 128:
            raise ValueError('initialize: id is neither a text nor the 128 bytes of create_unique_id()')
        _call('start_by', self._pointer, id, timeout_sec)

    def get_rank(self) -> int:
        return self._rank

    def get_n_ranks(self) -> int:
        return self._n_ranks

    def barrier(self) -> None:
        """Waits for all ranks."""
        _call('barrier', self._pointer)

    def all_gather(self, mine: bytes) -> list[bytes]:
        """What all ranks gave, as many bytes each, by rank."""
        n = len(mine)
        room = ctypes.create_string_buffer(max(1, n * self._n_ranks))
        room[self._rank * n:(self._rank + 1) * n] = mine
        _call('all_gather', self._pointer, room, n)
        return [room.raw[i * n:(i + 1) * n] for i in range(self._n_ranks)]


    def get_n_ranks_per_node(self) -> int:
        """How many ranks are on this host."""
        out = ctypes.c_int()
        _call('ranks_per_node', self._pointer, ctypes.byref(out))
        return out.value

    def _message(self, call, array, peer, tag):
        if hasattr(array, '__cuda_array_interface__'):
            raise TypeError(f'{call}: array is in the memory of a GPU')
        address, nbytes, _ = _arrays.describe(call, 'array', array, False)
        if call == 'recv':
            _need_writable(call, 'array', array)
        peer = whole_number(call, 'peer', peer, 0, self._n_ranks)
        _call(call, self._pointer, address, nbytes, peer, tag)

    def send(self, array: Array, peer: int, tag: int = 0) -> None:
        """The bytes of an array of the host, to rank peer, which receives as many with the same tag."""
        self._message('send', array, peer, tag)

    def recv(self, array: Array, peer: int, tag: int = 0) -> None:
        """Waits for what rank peer sends with that tag, and overwrites the array with it."""
        self._message('recv', array, peer, tag)


class Future:
    """What the other rank is yet to send. get() waits for it."""

    def __init__(self, owner, pointer, kind, name):
        self._owner, self._pointer, self._kind, self._name, self._got = owner, pointer, kind, name, None

    def get(self) -> Any:
        self._owner._need()
        if self._got is None:
            self._got = self._kind(self._owner, _call(f'get_{self._name}', self._owner._pointer, self._pointer))
        return self._got


class RegisteredMemory(_Object):
    """Memory of a rank that others may access, as Communicator.register_memory and recv_memory give it."""

    def _facts(self):
        self._need()
        out = (ctypes.c_uint64 * 3)()
        _call('memory_facts', self._pointer, out)
        return out

    def data(self) -> int:
        """Its address in this process; 0 if it is not mapped here."""
        return self._facts()[0]

    def size(self) -> int:
        """In bytes."""
        return self._facts()[1]

    def transports(self) -> TransportFlags:
        flags = TransportFlags()
        flags._bits = self._facts()[2]
        return flags

    def serialize(self) -> bytes:
        """Bytes that another process may deserialize: who holds them can access the memory."""
        self._need()
        room = ctypes.create_string_buffer(4096)
        size = _call('serialize', self._pointer, room, 4096)
        if size > 4096:
            raise Error(f'mscclpp: the memory has {size} bytes as bytes')
        return room.raw[:size]

    @staticmethod
    def deserialize(data: bytes) -> RegisteredMemory:
        """It stays mapped until the process ends."""
        return RegisteredMemory(None, _call('deserialize', bytes(data), len(data)))


class Connection(_Object):
    """One end of a connection; both ranks have made it. write and update_and_sync are completed by flush."""

    def _facts(self):
        self._need()
        out = (ctypes.c_int * 2)()
        _call('connection_facts', self._pointer, out)
        return out

    def transport(self) -> Transport:
        return Transport(self._facts()[0])

    def remote_transport(self) -> Transport:
        return Transport(self._facts()[1])

    def write(self, dst: RegisteredMemory, dst_offset: int, src: RegisteredMemory, src_offset: int, size: int) -> None:
        """Copies size bytes of src, this rank's, to dst, the other's."""
        self._need()
        _call('write', self._pointer, _address('write', 'dst', dst, RegisteredMemory),
              _number('write', 'dst_offset', dst_offset), _address('write', 'src', src, RegisteredMemory),
              _number('write', 'src_offset', src_offset), _number('write', 'size', size))

    def update_and_sync(self, dst: RegisteredMemory, dst_offset: int, src: Array, new_value: int) -> None:
        """src, one element of 64 bits, and the word of the other rank become new_value, after all earlier writes."""
        self._need()
        address, nbytes, _ = _arrays.describe('update_and_sync', 'src', src, False)
        _need_writable('update_and_sync', 'src', src)
        if nbytes != 8:
            raise ValueError(f'update_and_sync: src has {nbytes} bytes, not one element of 64 bits')
        _call('update', self._pointer, _address('update_and_sync', 'dst', dst, RegisteredMemory),
              _number('update_and_sync', 'dst_offset', dst_offset), address,
              _number('update_and_sync', 'new_value', new_value))

    def flush(self, timeout_usec: int = -1) -> None:
        """Waits until all earlier writes and updates are complete at the other end; -1: the general time limit."""
        self._need()
        _call('flush', self._pointer, timeout_usec)


class Semaphore(_Object):
    """Two words, by which the two ends of a connection count each other's signals."""

    def _part(self, kind, number):
        self._need()
        return kind(self._owner, _call('semaphore_part', self._owner._pointer, self._pointer, number))

    def connection(self) -> Connection:
        return self._part(Connection, 0)

    def local_memory(self) -> RegisteredMemory:
        return self._part(RegisteredMemory, 1)

    def remote_memory(self) -> RegisteredMemory:
        return self._part(RegisteredMemory, 2)


def _semaphore(call, args):
    """Of (semaphore) or (communicator, connection), as the constructors take them."""
    if len(args) == 2:
        communicator, connection = args
        _address(call, 'communicator', communicator, Communicator)
        return communicator.build_semaphore(connection, communicator.remote_rank_of(connection),
                                            communicator.tag_of(connection)).get()
    semaphore, = args
    _address(call, 'semaphore', semaphore, Semaphore)
    return semaphore


class _OnSemaphore(_Object):
    _kind = ''

    def __init__(self, *args: Any) -> None:
        self._semaphore = _semaphore(type(self).__name__, args)
        owner = self._semaphore._owner
        super().__init__(owner, _call(self._kind, owner._pointer, self._semaphore._pointer))

    def connection(self) -> Connection:
        return self._semaphore.connection()


class MemoryDevice2DeviceSemaphore(_OnSemaphore):
    """(semaphore), or (communicator, connection): kernels signal, kernels wait."""
    _kind = 'memory_semaphore'

    def device_handle(self) -> DeviceHandle:
        """For a parameter of type mscclpp::MemoryDevice2DeviceSemaphoreDeviceHandle."""
        return self._copied_handle(self._kind)


class Host2DeviceSemaphore(_OnSemaphore):
    """(semaphore), or (communicator, connection): the host signals, kernels wait."""
    _kind = 'device_semaphore'

    def signal(self) -> None:
        """After all earlier writes of the connection."""
        self._need()
        _call('device_semaphore_signal', self._pointer)

    def device_handle(self) -> DeviceHandle:
        """For a parameter of type mscclpp::Host2DeviceSemaphoreDeviceHandle."""
        return self._copied_handle(self._kind)


class Host2HostSemaphore(_OnSemaphore):
    """(semaphore), or (communicator, connection): hosts signal and wait. Of a connection over the network whose ends
    are EndpointConfig(transport, DeviceType.CPU)."""
    _kind = 'host_semaphore'

    def signal(self) -> None:
        """After all earlier writes of the connection."""
        self._need()
        _call('host_semaphore_signal', self._pointer)

    def poll(self) -> bool:
        """Takes a signal if there is one."""
        self._need()
        out = ctypes.c_int()
        _call('host_semaphore_poll', self._pointer, ctypes.byref(out))
        return bool(out.value)

    def wait(self, max_spin_count: int = 10000000) -> None:
        """Until there is a signal, for at most so many polls (-1: any number); takes it."""
        self._need()
        _call('host_semaphore_wait', self._pointer, max_spin_count)


class MemoryChannel(_Object):
    """Kernels copy src, this rank's memory, to dst, the other's, and signal. packet_buffer: an array of this rank in
    which the other rank's kernels write packets."""

    def __init__(self, semaphore: Semaphore, dst: RegisteredMemory, src: RegisteredMemory,
                 packet_buffer: Array | None = None) -> None:
        addresses = [_address('MemoryChannel', *argument) for argument in (
            ('semaphore', semaphore, Semaphore), ('dst', dst, RegisteredMemory), ('src', src, RegisteredMemory))]
        packets = None if packet_buffer is None else \
            _arrays.describe('MemoryChannel', 'packet_buffer', packet_buffer, False)[0]
        owner = semaphore._owner
        owner._kept.append(packet_buffer)
        super().__init__(owner, _call('memory', owner._pointer, *addresses, packets))

    def device_handle(self) -> DeviceHandle:
        """For a parameter of type mscclpp::MemoryChannelDeviceHandle."""
        return self._copied_handle('memory')


class BasePortChannel(_Object):
    """A port channel whose memories the kernel names by their numbers."""

    def device_handle(self) -> DeviceHandle:
        """For a parameter of type mscclpp::BasePortChannelDeviceHandle."""
        return self._copied_handle('base_port')


class PortChannel(_Object):
    """Kernels ask a service to copy and to signal."""

    def device_handle(self) -> DeviceHandle:
        """For a parameter of type mscclpp::PortChannelDeviceHandle."""
        return self._copied_handle('port')


class ProxyService(_Object):
    """The thread that does what kernels ask of port channels. What is made with it lives with the process; the service
    is to be stopped before the communicators of its semaphores are closed. fifo_size: a power of two."""

    def __init__(self, fifo_size: int = 512) -> None:
        super().__init__(None, _call('service', _number('ProxyService', 'fifo_size', fifo_size, 1)))
        self._kept_memories = []

    def start_proxy(self) -> None:
        """Until then kernels wait."""
        _call('run_service', self._pointer, 1)

    def stop_proxy(self) -> None:
        _call('run_service', self._pointer, 0)

    def _add(self, call, *arguments):
        out = ctypes.c_uint()
        _call(call, self._pointer, *arguments, ctypes.byref(out))
        return out.value

    def add_semaphore(self, semaphore: Semaphore) -> int:
        """Returns its number in the service."""
        return self._add('add_semaphore', _address('add_semaphore', 'semaphore', semaphore, Semaphore))

    def build_and_add_semaphore(self, communicator: Communicator, connection: Connection) -> int:
        """The other rank builds one, too. Returns its number in the service."""
        call = 'build_and_add_semaphore'
        return self._add(call, _address(call, 'communicator', communicator, Communicator),
                         _address(call, 'connection', connection, Connection))

    def add_memory(self, memory: RegisteredMemory) -> int:
        """Returns its number in the service."""
        return self._add('add_memory', _address('add_memory', 'memory', memory, RegisteredMemory))

    def base_port_channel(self, semaphore: int) -> BasePortChannel:
        return BasePortChannel(None, _call('base_port', self._pointer,
                                           _number('base_port_channel', 'semaphore', semaphore)))

    def port_channel(self, semaphore: int, dst: int, src: int) -> PortChannel:
        """By numbers of add_semaphore and add_memory: dst is the other rank's memory, src this one's."""
        return PortChannel(None, _call('port', self._pointer, _number('port_channel', 'semaphore', semaphore),
                                       _number('port_channel', 'dst', dst), _number('port_channel', 'src', src)))

    proxy_channel = base_port_channel  # the name of 0.5


class Communicator(_Object):
    """Makes connections, memories and semaphores with the other ranks of a bootstrap. close(), or the end of a `with`,
    frees all of them and the channels on them; kernels must be done with them."""

    def __init__(self, bootstrap: TcpBootstrap) -> None:
        super().__init__(None, _call('communicator', _address('Communicator', 'bootstrap', bootstrap, TcpBootstrap)))
        self._bootstrap = bootstrap
        self._kept: list[Any] = []  # arrays that are registered

    def _need(self):
        if self._pointer is None:
            raise Error('mscclpp: the communicator is closed')

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    def close(self) -> None:
        pointer, self._pointer = self._pointer, None
        if pointer is not None:
            with waiting('gshmem.mscclpp'):
                _unit.gshmem_channels_end(pointer)
            self._kept = []

    def bootstrap(self) -> TcpBootstrap:
        return self._bootstrap

    def _rank(self, call, rank):
        self._need()
        return whole_number(call, 'rank', rank, 0, self._bootstrap._n_ranks)

    def register_memory(self, memory: Array | int, size: int | None = None,
                        transports: Transport | TransportFlags = Transport.CudaIpc) -> RegisteredMemory:
        """memory: an array, or an address with a size in bytes. size None: the whole array."""
        self._need()
        if isinstance(memory, int) and not isinstance(memory, bool):
            if size is None:
                raise ValueError('register_memory: an address needs a size')
            address, nbytes = memory, _number('register_memory', 'size', size, 1)
        else:
            address, nbytes, _ = _arrays.describe('register_memory', 'memory', memory, False)
            if size is not None and _number('register_memory', 'size', size) > nbytes:
                raise ValueError(f'register_memory: size is {size}, and memory has {nbytes} bytes')
            nbytes = nbytes if size is None else size
        made = RegisteredMemory(self, _call('register_memory', self._pointer, address, nbytes,
                                            _bits_of('transports', transports)))
        self._kept.append(memory)
        return made

    def send_memory(self, memory: RegisteredMemory, remote_rank: int, tag: int = 0) -> None:
        """To the rank's recv_memory with the same tag. Does not wait."""
        _call('send_memory', self._pointer, _address('send_memory', 'memory', memory, RegisteredMemory),
              self._rank('send_memory', remote_rank), tag)

    def recv_memory(self, remote_rank: int, tag: int = 0) -> Future:
        """A future of RegisteredMemory."""
        rank = self._rank('recv_memory', remote_rank)
        return Future(self, _call('recv_memory', self._pointer, rank, tag), RegisteredMemory, 'memory')

    def connect(self, config: EndpointConfig | Transport, remote_rank: int, tag: int = 0) -> Future:
        """A future of Connection; the other rank makes the same call."""
        rank = self._rank('connect', remote_rank)
        config = config if isinstance(config, EndpointConfig) else EndpointConfig(config)
        return Future(self, _call('connect', self._pointer, config.transport, config.device, -1, rank, tag), Connection,
                      'connection')

    def build_semaphore(self, connection: Connection, remote_rank: int, tag: int = 0) -> Future:
        """A future of Semaphore; the other rank makes the same call."""
        rank = self._rank('build_semaphore', remote_rank)
        address = _address('build_semaphore', 'connection', connection, Connection)
        return Future(self, _call('build_semaphore', self._pointer, address, rank, tag), Semaphore, 'semaphore')

    def _rank_and_tag_of(self, call, connection):
        self._need()
        out = (ctypes.c_int * 2)()
        _call('rank_and_tag_of', self._pointer, _address(call, 'connection', connection, Connection), out)
        return out

    def remote_rank_of(self, connection: Connection) -> int:
        return self._rank_and_tag_of('remote_rank_of', connection)[0]

    def tag_of(self, connection: Connection) -> int:
        return self._rank_and_tag_of('tag_of', connection)[1]


class ProxyTrigger:
    """What a kernel has pushed into a Fifo: two words, fst and snd, of which the highest bit of snd is the Fifo's."""

    def __init__(self, fst: int, snd: int) -> None:
        self.fst, self.snd = fst, snd

    def __repr__(self) -> str:
        return f'ProxyTrigger({self.fst:#x}, {self.snd:#x})'


class Fifo(_Object):
    """Triggers that kernels push and the program takes out, in place of a ProxyService: any number of threads of
    kernels, one of the program's. size: a power of two."""

    def __init__(self, size: int = 512) -> None:
        self._size = _number('Fifo', 'size', size, 1)
        super().__init__(None, _call('fifo', self._size if self._size < 1 << 31 else -1))

    def poll(self) -> ProxyTrigger | None:
        """The oldest trigger, which stays in the FIFO until pop; None: there is none."""
        out = (ctypes.c_uint64 * 3)()
        _call('fifo_poll', self._pointer, out)
        return ProxyTrigger(out[1], out[2]) if out[0] else None

    def pop(self) -> None:
        """Takes the trigger out that poll has found: kernels that wait for it by sync, or for room, go on."""
        if self.poll() is None:
            raise Error('mscclpp: Fifo.pop: there is no trigger')
        _call('fifo_pop', self._pointer)

    def tail(self) -> int:
        """How many have been taken out."""
        out = ctypes.c_uint64()
        _call('fifo_tail', self._pointer, ctypes.byref(out))
        return out.value

    def size(self) -> int:
        return self._size

    def device_handle(self) -> DeviceHandle:
        """For a parameter of type mscclpp::FifoDeviceHandle."""
        return self._copied_handle('fifo')


def is_nvls_supported() -> bool:
    """Whether there are switch channels: never, since the library does not use multicast memory."""
    out = ctypes.c_int()
    _call('nvls_supported', ctypes.byref(out))
    return bool(out.value)


def connect_nvls_collective(communicator: Communicator, all_ranks: Iterable[int], buffer_size: int) -> NvlsConnection:
    """Raises Error: is_nvls_supported() is False."""
    ranks = list(all_ranks)
    address = _address('connect_nvls_collective', 'communicator', communicator, Communicator)
    _call('connect_nvls', address, (ctypes.c_int * len(ranks))(*ranks), len(ranks),
          _number('connect_nvls_collective', 'buffer_size', buffer_size))
    raise Error('mscclpp: connect_nvls_collective: this package has no switch channels')


class NvlsConnection:
    """Raises Error: is_nvls_supported() is False."""

    def __init__(self, buffer_size: int, num_devices: int) -> None:
        _call('nvls_connection', _number('NvlsConnection', 'buffer_size', buffer_size),
              _number('NvlsConnection', 'num_devices', num_devices))
        raise Error('mscclpp: NvlsConnection: this package has no switch channels')


class SwitchChannel:
    """Kernels reduce and broadcast by the switch. They come of an NvlsConnection alone, so there are none."""

    def __init__(self, *unused: Any) -> None:
        raise Error('mscclpp: SwitchChannel: an NvlsConnection makes it, and is_nvls_supported() is False')


def _by_torch(group):
    """Rank, number of ranks and an id, by a process group of torch."""
    import torch.distributed as dist
    if not isinstance(group, dist.ProcessGroup):
        raise TypeError(f'CommGroup: torch_group is {type(group).__name__}, no process group of torch.distributed')
    box = [create_unique_id() if dist.get_rank(group) == 0 else None]
    dist.broadcast_object_list(box, dist.get_global_rank(group, 0), group)
    return dist.get_rank(group), dist.get_world_size(group), box[0]


class CommGroup:
    """Ranks that meet by one of these: mpi_comm, a communicator of mpi4py; torch_group, a process group of
    torch.distributed; interfaceIpPortTrio, 'ip:port' or 'interface:ip:port', where rank 0 listens; unique_id, the bytes
    of create_unique_id. The last two need rank and size. No job of gshmem is needed. close(), or the end of a `with`,
    frees its connections and channels; kernels must be done with them."""

    def __init__(self, mpi_comm: Any = None, torch_group: Any = None, interfaceIpPortTrio: str = '',
                 rank: int | None = None, size: int | None = None, unique_id: bytes | None = None) -> None:
        given = [mpi_comm is not None, torch_group is not None, bool(interfaceIpPortTrio), unique_id is not None]
        if sum(given) != 1:
            raise ValueError('CommGroup: give one of mpi_comm, torch_group, interfaceIpPortTrio and unique_id')
        if given[0]:
            if not all(hasattr(mpi_comm, name) for name in ('Get_rank', 'Get_size', 'bcast')):
                raise TypeError(f'CommGroup: mpi_comm is {type(mpi_comm).__name__}, no communicator of mpi4py')
            rank, size = mpi_comm.Get_rank(), mpi_comm.Get_size()
            unique_id = mpi_comm.bcast(create_unique_id() if rank == 0 else None, root=0)
        elif given[1]:
            rank, size, unique_id = _by_torch(torch_group)
        if rank is None or size is None or not 0 <= rank < size:
            raise ValueError(f'CommGroup: rank is {rank} and size is {size}')
        if unique_id is not None and len(unique_id) != 128:
            raise ValueError(f'CommGroup: unique_id has {len(unique_id)} bytes, not 128')
        self.my_rank, self.nranks = rank, size
        self.bootstrap = TcpBootstrap(rank, size)
        self.bootstrap.initialize(interfaceIpPortTrio if unique_id is None else unique_id)
        self.communicator = Communicator(self.bootstrap)
        self.nranks_per_node = self.bootstrap.get_n_ranks_per_node()

    def _need(self):
        if self.communicator._pointer is None:
            raise Error('mscclpp: the group is closed')

    def __enter__(self) -> CommGroup:
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    def close(self) -> None:
        self.communicator.close()

    def barrier(self) -> None:
        """Waits for all ranks."""
        self._need()
        self.bootstrap.barrier()

    def send(self, tensor: Array, peer: int, tag: int) -> None:
        """The bytes of an array of the host to rank peer."""
        self._need()
        self.bootstrap.send(tensor, peer, tag)

    def recv(self, tensor: Array, peer: int, tag: int) -> None:
        """Overwrites the array with as many bytes that rank peer sends with that tag."""
        self._need()
        self.bootstrap.recv(tensor, peer, tag)

    def my_ib_device(self, local_rank: int) -> Transport:
        """IB0 to IB7 for the local ranks 0 to 7."""
        return Transport(Transport.IB0 + whole_number('my_ib_device', 'local_rank', local_rank, 0, 8))

    def make_connection(self, all_ranks: Iterable[int],
                        endpoints: Transport | EndpointConfig | dict[int, Any] = Transport.CudaIpc,
                        use_switch: bool = False) -> dict[int, Connection]:
        """{rank: connection} with each of these ranks, which make the same call. endpoints: what the ends are to be, of
        all of them or {rank: what that one}. use_switch: raises Error, as connect_nvls_collective."""
        self._need()
        ranks = [whole_number('make_connection', f'all_ranks[{i}]', rank, 0, self.nranks)
                 for i, rank in enumerate(all_ranks)]
        if len(set(ranks)) != len(ranks):
            raise ValueError(f'make_connection: all_ranks are {ranks}, of which two are the same')
        if use_switch:
            connect_nvls_collective(self.communicator, ranks, 0)
        ends = endpoints if isinstance(endpoints, dict) else dict.fromkeys(ranks, endpoints)
        if not set(ranks) <= set(ends):
            raise ValueError(f'make_connection: endpoints are of ranks {sorted(ends)}, and all_ranks are {ranks}')
        futures = {rank: self.communicator.connect(ends[rank], rank) for rank in ranks}
        return {rank: future.get() for rank, future in futures.items()}

    def register_tensor_with_connections(self, array: Array,
                                         connections: dict[int, Connection]) -> dict[int, RegisteredMemory]:
        """{rank: the array that it has given, own rank: this array}. The ranks make the same call."""
        return self.register_memory_with_connections(self._register(array, connections), connections)

    def _register(self, array, connections):
        self._need()
        transports = TransportFlags(*(c.transport() for c in connections.values()))
        return self.communicator.register_memory(array, transports=transports)

    def register_memory_with_connections(self, memory: RegisteredMemory,
                                         connections: dict[int, Connection]) -> dict[int, RegisteredMemory]:
        """The same for memory that is registered already."""
        self._need()
        futures = {}
        for rank in connections:
            self.communicator.send_memory(memory, rank)
            futures[rank] = self.communicator.recv_memory(rank)
        return {**{rank: future.get() for rank, future in futures.items()}, self.my_rank: memory}

    def make_semaphores(self, connections: dict[int, Connection]) -> dict[int, Semaphore]:
        """{rank: semaphore}. The ranks make the same call."""
        self._need()
        futures = {rank: self.communicator.build_semaphore(c, rank) for rank, c in connections.items()}
        return {rank: future.get() for rank, future in futures.items()}

    def make_memory_channels(self, array: Array, connections: dict[int, Connection]) -> dict[int, MemoryChannel]:
        """{rank: channel}: the other rank's array is its destination, this array its source. The other ranks make the
        same call with arrays of their own, of the same size."""
        memories = self.register_tensor_with_connections(array, connections)
        return {rank: MemoryChannel(semaphore, memories[rank], memories[self.my_rank])
                for rank, semaphore in self.make_semaphores(connections).items()}

    def make_memory_channels_with_scratch(self, array: Array, scratch: Array,
                                          connections: dict[int, Connection]) -> dict[int, MemoryChannel]:
        """As make_memory_channels; the destination is the other rank's scratch, in which kernels may write packets."""
        memories = self.register_tensor_with_connections(scratch, connections)
        source = self._register(array, connections)
        return {rank: MemoryChannel(semaphore, memories[rank], source, scratch)
                for rank, semaphore in self.make_semaphores(connections).items()}

    def make_port_channels(self, proxy_service: ProxyService, array: Array,
                           connections: dict[int, Connection]) -> dict[int, PortChannel]:
        """As make_memory_channels; the copies are made by the service."""
        memories = self.register_tensor_with_connections(array, connections)
        numbers = {rank: proxy_service.add_memory(memory) for rank, memory in memories.items()}
        return {rank: proxy_service.port_channel(proxy_service.add_semaphore(semaphore), numbers[rank],
                                                 numbers[self.my_rank])
                for rank, semaphore in self.make_semaphores(connections).items()}

    def make_port_channels_with_scratch(self, proxy_service: ProxyService, array: Array, scratch: Array,
                                        connections: dict[int, Connection]) -> dict[int, PortChannel]:
        """As make_port_channels; the destination is the other rank's scratch."""
        memories = self.register_tensor_with_connections(scratch, connections)
        source = proxy_service.add_memory(self._register(array, connections))
        return {rank: proxy_service.port_channel(proxy_service.add_semaphore(semaphore),
                                                 proxy_service.add_memory(memories[rank]), source)
                for rank, semaphore in self.make_semaphores(connections).items()}

    def register_semaphore_with_proxy(self, proxy_service: ProxyService,
                                      connections: dict[int, Connection]) -> dict[int, int]:
        """{rank: the number in the service of a new semaphore}. The ranks make the same call."""
        return {rank: proxy_service.add_semaphore(semaphore)
                for rank, semaphore in self.make_semaphores(connections).items()}

    def register_memory_with_proxy(self, proxy_service: ProxyService, array: Array,
                                   connections: dict[int, Connection]) -> dict[int, int]:
        """{rank: the number in the service of the array that it has given, own rank: of this array}."""
        memories = self.register_tensor_with_connections(array, connections)
        return {rank: proxy_service.add_memory(memory) for rank, memory in memories.items()}

    make_semaphore = make_semaphores  # the names of 0.6 and before
    make_sm_channels = make_memory_channels
    make_sm_channels_with_scratch = make_memory_channels_with_scratch

    def make_proxy_channels(self, proxy_service: ProxyService, array: Array,
                            connections: dict[int, Connection]) -> dict[int, PortChannel]:
        """The name of 0.6 and before of make_port_channels."""
        return self.make_port_channels(proxy_service, array, connections)


# The names of 0.6 and before.
MscclppGroup = CommGroup
SmChannel = MemoryChannel
SmDevice2DeviceSemaphore = MemoryDevice2DeviceSemaphore
ProxyChannel = BasePortChannel
SimpleProxyChannel = PortChannel
