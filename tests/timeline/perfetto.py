# SPDX-License-Identifier: Apache-2.0
"""Reads as much of Perfetto's trace format as a timeline has, by the numbers of Perfetto's own .proto files, and
without any of the library's code."""

import collections
import struct

Slice = collections.namedtuple("Slice", "process track name category begin end args flows")
Arrow = collections.namedtuple("Arrow", "process track name ns flow inside")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """{field: [values]} of a message; raises if it is cut short."""
    found, at = collections.defaultdict(list), 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            if len(value) != length:
                raise ValueError("a message is cut short")
        else:
            raise ValueError(f"wire type {kind}")
        found[tag >> 3].append(value)
    return found


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Trace:
    """processes: uuid -> name; tracks: uuid -> (process, name); slices; arrows, as they end inside a wait; starts:
    flow -> slice; counters: (process, name) -> [(ns, value)]; notes: (process, name) -> args."""

    def __init__(self, path):
        self.processes, self.tracks, self.slices, self.arrows = {}, {}, [], []
        self.starts, self.counters, self.notes = {}, collections.defaultdict(list), {}
        self.names, self.keys, self.open = {}, {}, collections.defaultdict(list)
        with open(path, "rb") as file:
            packets = fields(file.read())[1]
        for n, packet in enumerate(map(fields, packets)):
            assert packet[10] == [1] and packet[13] == [1 if n == 0 else 2]
            for interned in map(fields, packet[12]):
                for entry in map(fields, interned[2]):
                    self.names[entry[1][0]] = entry[2][0].decode()
                for entry in map(fields, interned[3]):
                    self.keys[entry[1][0]] = entry[2][0].decode()
            for track in map(fields, packet[60]):
                self.take_track(track)
            for event in map(fields, packet[11]):
                self.take_event(packet[8][0], event)
        assert not any(self.open.values()), "a slice has no end"

    def take_track(self, track):
        uuid = track[1][0]
        if track[3]:
            self.processes[uuid] = fields(track[3][0])[6][0].decode()
            self.tracks[uuid] = (uuid, "")
            return
        name = fields(track[4][0])[5][0] if track[4] else track[2][0]
        self.tracks[uuid] = (track[5][0], name.decode())

    def take_event(self, ns, event):
        kind, uuid = event[9][0], event[11][0]
        process, track = self.tracks[uuid]
        args = {}
        for a in map(fields, event[4]):
            value = a[6][0].decode() if a[6] else signed(a[4][0]) if a[4] else a[3][0]
            args[self.keys[a[1][0]]] = value
        name = event[23][0].decode() if event[23] else self.names[event[10][0]] if event[10] else None
        if kind == 1:
            self.open[uuid].append([name, event[22][0].decode(), ns, args, event[47]])
        elif kind == 2:
            name, category, begin, args, flows = self.open[uuid].pop()
            done = Slice(process, track, name, category, begin, ns, args, flows)
            self.slices.append(done)
            self.starts.update({flow: done for flow in flows})
        elif kind == 4:
            self.counters[process, track].append((ns, event[30][0]))
        elif event[48]:
            self.arrows.append(Arrow(process, track, name, ns, event[48][0], self.open[uuid][-1][0]))
        else:
            self.notes[process, name] = args

    def pe(self, process):
        return int(self.processes[process].split()[1])
