// SPDX-License-Identifier: Apache-2.0
// Runs Perfetto's trace processor, compiled to WebAssembly, without a browser: passes it the file REQUESTS, a
// TraceProcessorRpcStream, and writes what it replies to the file REPLIES, another one.
//
//     node trace_processor.mjs TRACE_PROCESSOR_WASM REQUESTS REPLIES
import fs from "node:fs";

const [wasm, requests, replies] = process.argv.slice(2);
const ROOM = 32 << 20; // bytes of a request's piece
const out = fs.openSync(replies, "w");
let memory;

const bytes = () => new Uint8Array(memory.buffer);
const view = () => new DataView(memory.buffer);

function text(at) {
    const all = bytes();
    return Buffer.from(all.slice(at, all.indexOf(0, at))).toString();
}

// What the program needs of its surroundings. It has no files.
const given = {
    emscripten_get_now: () => performance.now(),
    emscripten_date_now: () => Date.now(),
    emscripten_get_heap_max: () => 2 ** 31,
    emscripten_resize_heap: wanted => {
        memory.grow(Math.ceil(((wanted >>> 0) - memory.buffer.byteLength) / 65536));
        return 1;
    },
    emscripten_err: at => console.error(text(at)),
    _abort_js: () => { throw new Error("it aborts"); },
    __assert_fail: (what, file, line) => { throw new Error(`${text(what)}, at ${text(file)}:${line}`); },
    clock_time_get: (clock, precision, at) => {
        view().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
        return 0;
    },
    environ_sizes_get: (count, size) => {
        view().setUint32(count, 0, true);
        view().setUint32(size, 0, true);
        return 0;
    },
    environ_get: () => 0,
    fd_write: (fd, pieces, n, written) => {
        let total = 0;
        for (let i = 0; i < n; i++) {
            const at = view().getUint32(pieces + 8 * i, true), size = view().getUint32(pieces + 8 * i + 4, true);
            process.stderr.write(bytes().slice(at, at + size));
            total += size;
        }
        view().setUint32(written, total, true);
        return 0;
    },
};
const EBADF = 8, ENOENT = 2;
const refuse = name => () => name.startsWith("__syscall") ? -ENOENT : EBADF;

const module = new WebAssembly.Module(fs.readFileSync(wasm));
const imports = {};
for (const { module: from, name } of WebAssembly.Module.imports(module))
    (imports[from] ??= {})[name] = given[name] ?? refuse(name);
const program = new WebAssembly.Instance(module, imports).exports;
memory = program.memory;
program.emscripten_stack_init();
program.__wasm_call_ctors();
program.__main_argc_argv(0, 0);

// A table takes functions of WebAssembly alone. This module is
//     (func (import "e" "f") (param i32 i32)) (export "f" (func 0))
const passed_on = new WebAssembly.Module(new Uint8Array([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 6, 1, 0x60, 2, 0x7f, 0x7f, 0, 2, 7, 1, 1, 0x65, 1, 0x66, 0, 0, 7, 5, 1, 1, 0x66,
    0, 0]));
const reply = (at, size) => fs.writeSync(out, bytes().slice(at, at + size));
const functions = program.__indirect_function_table;
const slot = functions.grow(1);
functions.set(slot, new WebAssembly.Instance(passed_on, { e: { f: reply } }).exports.f);

const at = program.trace_processor_rpc_init(slot, ROOM) >>> 0;
const data = fs.readFileSync(requests);
for (let i = 0; i < data.length; i += ROOM) {
    const piece = data.subarray(i, i + ROOM);
    bytes().set(piece, at);
    program.trace_processor_on_rpc_request(piece.length);
}
