# SPDX-License-Identifier: Apache-2.0
"""Perfetto's trace processor takes a timeline without an error, and its tables have the PEs, tracks, slices with their
arguments, arrows and counters that the file has, and that the program makes (timeline.py).

    python trace_processor.py NODE TRACE_PROCESSOR_WASM TRACE

Run by a Python that has PyPI's packages perfetto and protobuf: perfetto_fields.py does so."""

import collections
import importlib.util
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path = [p for p in sys.path if os.path.abspath(p) != HERE]  # PyPI's perfetto, not the reader beside this file
from perfetto.trace_processor.platform import PlatformDelegate  # noqa: E402
from perfetto.trace_processor.protos import ProtoFactory  # noqa: E402

QUERIES = {
    "faults": "select name, value from stats where severity in ('error', 'data_loss') and value > 0",
    "processes": "select name from process where name is not null",
    "slices": """select s.id, coalesce(p.name, tp.name), coalesce(th.name, t.name), s.name, s.category, s.ts, s.dur,
                        coalesce(s.arg_set_id, -1)
                 from slice s join track t on s.track_id = t.id
                 left join process_track pt on pt.id = t.id left join process p on p.upid = pt.upid
                 left join thread_track tt on tt.id = t.id left join thread th on th.utid = tt.utid
                 left join process tp on tp.upid = th.upid""",
    "arguments": "select arg_set_id, key, display_value from args where key like 'debug.%'",
    "arrows": "select slice_out, slice_in from flow",
    "counters": """select p.name, t.name, c.ts, cast(c.value as int)
                   from counter c join process_counter_track t on c.track_id = t.id join process p using (upid)""",
    # What a user would ask: how long each PE waited for each other one.
    "waits": """select count(*), sum(s.dur) from slice s where s.category = 'wait'""",
}


def reader():
    spec = importlib.util.spec_from_file_location("own_reader", os.path.join(HERE, "perfetto.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(result):
    """The rows of the batches of a query's results."""
    values, width = [], 0
    for part in result:
        if part.error:
            sys.exit(f"trace_processor.py: {part.error}")
        width = width or len(part.column_names)
        for batch in part.batch:
            kinds = batch.CellType
            of = {kinds.CELL_VARINT: iter(batch.varint_cells), kinds.CELL_FLOAT64: iter(batch.float64_cells),
                  kinds.CELL_STRING: iter(batch.string_cells.split("\0")), kinds.CELL_NULL: None}
            values += [None if of[kind] is None else next(of[kind]) for kind in batch.cells]
    return [tuple(values[i:i + width]) for i in range(0, len(values), width)]


def ask(node, wasm, trace):
    """{query's name: rows}"""
    protos = ProtoFactory(PlatformDelegate())
    rpc = protos.TraceProcessorRpc
    stream = protos.TraceProcessorRpcStream()
    with open(trace, "rb") as file:
        stream.msg.add(seq=0, request=rpc.TPM_APPEND_TRACE_DATA, append_trace_data=file.read())
    stream.msg.add(seq=1, request=rpc.TPM_FINALIZE_TRACE_DATA)
    for n, sql in enumerate(QUERIES.values()):
        stream.msg.add(seq=2 + n, request=rpc.TPM_QUERY_STREAMING).query_args.sql_query = sql
    with tempfile.TemporaryDirectory() as folder:
        asked, said = f"{folder}/requests", f"{folder}/replies"
        with open(asked, "wb") as file:
            file.write(stream.SerializeToString())
        subprocess.run([node, f"{HERE}/trace_processor.mjs", wasm, asked, said], check=True, timeout=200)
        with open(said, "rb") as file:
            replies = protos.TraceProcessorRpcStream.FromString(file.read())
    answers = collections.defaultdict(list)
    for m in replies.msg:
        if m.response == rpc.TPM_QUERY_STREAMING:
            # Several replies, with equal numbers, may belong to a query, in the order of the queries.
            answers[m.seq].append(m.query_result)
        elif m.response == rpc.TPM_APPEND_TRACE_DATA and m.append_result.error:
            sys.exit(f"trace_processor.py: {m.append_result.error}")
    finished = []
    for seq in sorted(answers):
        part = []
        for result in answers[seq]:
            part.append(result)
            if result.batch and result.batch[-1].is_last_batch or result.error:
                finished.append(part)
                part = []
    if len(finished) != len(QUERIES):
        sys.exit(f"trace_processor.py: {len(finished)} answers to {len(QUERIES)} queries")
    return {name: rows(part) for name, part in zip(QUERIES, finished)}


def same(found, wanted, what):
    found, wanted = collections.Counter(found), collections.Counter(wanted)
    if found != wanted or not found:
        sys.exit(f"trace_processor.py: {what}: it has {list((found - wanted).items())[:3]}, the file "
                 f"{list((wanted - found).items())[:3]}")


def main():
    node, wasm, path = sys.argv[1:]
    said, trace = ask(node, wasm, path), reader().Trace(path)
    if said["faults"]:
        sys.exit(f"trace_processor.py: its faults: {said['faults']}")
    same([name for name, in said["processes"]], trace.processes.values(), "processes")
    arguments = collections.defaultdict(dict)
    for number, key, value in said["arguments"]:
        arguments[number][key.partition(".")[2]] = value
    slices = {row[0]: row[1:7] + (tuple(sorted(arguments[row[7]].items())),) for row in said["slices"]}
    wanted = [(trace.processes[s.process], s.track, s.name, s.category, s.begin, s.end - s.begin,
               tuple(sorted((key, str(value)) for key, value in s.args.items()))) for s in trace.slices]
    instants = [(trace.processes[a.process], a.track, a.name, a.ns, 0) for a in trace.arrows] + \
               [(trace.processes[process], None, name, None, 0) for process, name in trace.notes]
    same([(s[0], s[1], s[2], s[4] if s[1] else None, s[5]) for s in slices.values()],
         [(w[0], w[1], w[2], w[4], w[5]) for w in wanted] + instants, "slices and instants")
    missing = collections.Counter(wanted) - collections.Counter(slices.values())
    if missing:
        sys.exit(f"trace_processor.py: it lacks {list(missing)[:3]}")
    arrows = [(slices[a][:2], slices[a][2], slices[b][:2], slices[b][4]) for a, b in said["arrows"]]
    starts = [(a, trace.starts[a.flow]) for a in trace.arrows]
    same(arrows, [((trace.processes[s.process], s.track), s.name, (trace.processes[a.process], a.track), a.ns)
                  for a, s in starts], "arrows")
    same(said["counters"], [(trace.processes[process], name, ns, value)
                            for (process, name), values in trace.counters.items() for ns, value in values], "counters")
    waits = [s.end - s.begin for s in trace.slices if s.category == "wait"]
    same(said["waits"], [(len(waits), sum(waits))], "waits")
    print(f"Perfetto's trace processor: {len(wanted)} slices, {len(arrows)} arrows, {len(said['counters'])} values of "
          "counters, as in the file")


main()
