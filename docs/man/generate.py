#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the man pages from the contracts in the public headers: one page for each family of calls, a link to it for
each name, and gshmem(7), which is the head of gshmem.h. The tools' pages are the texts in this folder, with the options
that the tools print.

    generate.py ROOT VERSION OUTPUT_DIR CXX ARGS...      CXX preprocesses gshmem_device.cuh for the CPU device

A contract is the comment before declarations, or after one on its line; a section's rules are in the comment with its
title. FAMILIES says which declarations share a page, in this order; TYPES are pages of types and constants, THINGS of
anything else, and TEMPLATES is the page of the C++ calls. A public name without a page, or a page without a contract,
is an error."""
import os, re, shutil, subprocess, sys

HEADERS = ['gshmem.h', 'gshmem/typed.h.in', 'gshmem/typed_calls.h.in', 'gshmem/collectives.h.in', 'gshmemx.h',
           'gshmem/typed_stream.h.in', 'gshmem/launch.h']

# page, text after its name, and the calls by their names without gshmem_, types, sizes and suffixes
FAMILIES = [
    ('gshmem_init', 'start and end a PE', 'init|init_thread|query_thread|query_initialized|pcontrol|finalize'),
    ('gshmemx_init_attr', 'start by MPI communicator, unique id or threads',
     'init_attr|init_status|get_uniqueid|set_attr_.*|run'),
    ('gshmem_global_exit', 'end all PEs', 'global_exit'),
    ('gshmem_my_pe', 'number of this PE, and of all', 'my_pe|n_pes'),
    ('gshmem_ptr', 'addresses of other PEs', 'ptr|team_ptr|pe_accessible|addr_accessible'),
    ('gshmem_info_get_version', 'versions and names', 'info_get_.*|vendor_get_version_info'),
    ('gshmemx_error_string', 'what went wrong', 'error_string|set_error_handler|call_prefix|call_site'),
    ('gshmemx_heap_info', 'heap, route and device of a PE', 'heap_info|route_name|device_name'),
    ('gshmemx_trace_begin', "the program's spans in the timeline", 'trace_begin|trace_end'),
    ('gshmem_malloc', 'symmetric memory', 'malloc|calloc|align|malloc_with_hints|realloc|free'),
    ('gshmemx_buffer_register_symmetric', "memory of the program's own", 'buffer_.*|is_symmetric'),
    ('gshmem_team_split_strided', 'make and end teams',
     'team_split_.*|team_get_config|team_destroy|team_create|team_create_at|team_get_uniqueid|team_init'),
    ('gshmem_team_my_pe', 'numbers of PEs in teams', 'team_my_pe|team_n_pes|team_translate_pe|ctx_get_team'),
    ('gshmem_ctx_create', 'communication contexts', 'ctx_create|team_create_ctx|ctx_destroy'),
    ('gshmem_put', 'copy to another PE', 'put|putmem|p|iput|ibput|(put|putmem|iput)_nbi'),
    ('gshmem_get', 'copy from another PE', 'get|getmem|g|iget|ibget|(get|getmem|iget)_nbi'),
    ('gshmem_put_signal', 'copy to another PE and signal it', '(put|putmem)_signal(_nbi)?'),
    ('gshmemx_signal_op', 'change, read and wait for a signal', 'signal_.*'),
    ('gshmem_atomic', 'atomics on memory of another PE', 'atomic_.*'),
    ('gshmem_wait_until', 'wait for memory to change', 'wait_until.*'),
    ('gshmem_test', 'look whether memory has changed', 'test|test_(all|any|some).*'),
    ('gshmem_fence', 'order and complete puts', 'fence|quiet|pe_quiet'),
    ('gshmem_barrier', 'barrier and sync', 'barrier|barrier_all|sync_all|team_sync|(barrier|team_sync)_channel'),
    ('gshmem_set_lock', 'distributed locks', 'set_lock|test_lock|clear_lock'),
    ('gshmem_broadcast', 'from one member of a team to all', 'broadcast|broadcastmem'),
    ('gshmem_collect', 'from all members of a team to all', 'f?collect|f?collectmem'),
    ('gshmem_alltoall', 'from each member of a team to each', 'alltoalls?|alltoalls?mem'),
    ('gshmem_reduce', 'reductions over a team', '.*_reduce|.*_reducescatter'),
    ('gshmem_scan', 'prefix sums over a team', '.*_(in|ex)scan'),
    ('gshmem_launch', 'launch kernels on either device', 'launch|collective_launch|collective_launch_query_gridsize'),
    ('gshmemx_device_setup', 'set the device up, and modules',
     'device_setup|stream_check|part_multiprocessors|cumodule_.*|culibrary_.*'),
]
# page, text after its name, header, a pattern whose groups are contract and declarations, other names
THINGS = {
    'gshmem_device.cuh': ('calls of kernels, and macros that choose what is compiled', 'gshmem_device.cuh',
                          r'\A(/\*.*?\*/)()',
                          ['GSHMEM_ARENA_BYTES', 'GSHMEM_BATCH_PUTS', 'GSHMEM_CALL_SITES', 'GSHMEM_CHECKS',
                           'GSHMEM_LENDING',
                           'GSHMEM_NEAR_ONLY',
                           'GSHMEM_SHARED_DEVICE', 'GSHMEM_TRACE_KERNELS', 'GSHMEM_WIDE_COPIES']),
    'GSHMEM_DYNAMIC_SHARED': ('dynamic shared memory on either device', 'gshmem/launch.h',
                              r'(/\* In a kernel, declares(?:(?!\*/).)*\*/)()', []),
    'gshmem::lend_shared': ('shared memory for large copies by threads and warps', 'device/bulk.cuh',
                            r'(/\* Lends shared memory(?:(?!\*/).)*\*/)()', ['gshmem::take_back_shared']),
    'gshmem::begin_batch': ('small puts to far PEs, published together', 'device/batch.cuh',
                            r'(/\* From now on non-blocking puts(?:(?!\*/).)*\*/)()', ['gshmem::end_batch']),
}
PROTOTYPES = {
    'gshmem_device.cuh': '#include <gshmem_device.cuh>',
    'GSHMEM_DYNAMIC_SHARED': 'GSHMEM_DYNAMIC_SHARED(T, name);        // in a kernel: T *name',
    'gshmem::lend_shared': 'void gshmem::lend_shared(void *shared, size_t bytes);\nvoid gshmem::take_back_shared();',
    'gshmem::begin_batch': 'void gshmem::begin_batch();\nvoid gshmem::end_batch();',
}
# page, text after its name, and the types and constants of types.h, or of another header, that it describes
TYPES = [
    ('gshmem_team_t', 'teams of PEs', r'gshmem_team_t|GSHMEMX?_TEAM_(INVALID|WORLD|SHARED|NODE|NEAR|SAME_MYPE_NODE)'),
    ('gshmem_team_config_t', 'what a team has besides its members', r'gshmem_team_config_t|GSHMEMX?_TEAM_NUM_\w+'),
    ('gshmem_ctx_t', 'communication contexts', r'gshmem_ctx_t|GSHMEM_CTX_\w+'),
    ('gshmemx_stream_t', 'streams', r'gshmemx_stream_t'),
    ('GSHMEM_CMP_EQ', 'comparisons of waits and tests', r'GSHMEM_CMP_\w+'),
    ('GSHMEM_SIGNAL_SET', 'how a signal changes', r'GSHMEM_SIGNAL_\w+'),
    ('GSHMEM_MALLOC_ATOMICS_REMOTE', 'what memory is for', r'GSHMEM_MALLOC_\w+'),
    ('GSHMEM_THREAD_SINGLE', 'levels of thread support', r'GSHMEM_THREAD_\w+'),
    ('GSHMEM_STATUS_NOT_INITIALIZED', 'phases of init', r'GSHMEM_STATUS_\w+'),
    ('GSHMEMX_SUCCESS', 'results of calls', r'GSHMEMX_(SUCCESS|ERROR_\w+)'),
    ('GSHMEMX_INIT_THREAD_PES', 'ways to start, and symmetric globals',
     r'GSHMEMX_INIT_(THREAD_PES|WITH_\w+|STATIC_DATA)'),
    ('gshmemx_init_attr_t', 'attributes of start-up',
     r'gshmemx_(init_attr|init_args|thread_args|uniqueid_args|uniqueid)_t|GSHMEMX_\w+_INITIALIZER|'
     r'GSHMEMX_STRUCT_VERSION'),
    ('gshmemx_error_t', 'what an error handler learns', r'gshmemx_error(_handler)?_t'),
    ('gshmemx_heap_info_t', "the state of a PE's heap", r'gshmemx_heap_info_t'),
    ('gshmem_half_t', '16-bit floating-point numbers', r'gshmem_(half|bfloat16)_t'),
    ('gshmem_complexf_t', 'complex numbers', r'gshmem_complex[fd]_t'),
    ('GSHMEM_TYPE_TABLE', 'all types, for programs that stamp code for each',
     r'GSHMEM_TYPE_TABLE\w*|GSHMEM_TYPES_(?!H\b)\w+|GSHMEM_SIZES'),
    ('GSHMEM_MAJOR_VERSION', 'versions',
     r'GSHMEM_(MAJOR|MINOR)_VERSION|GSHMEM_MAX_NAME_LEN|GSHMEM_VENDOR_\w+|GSHMEM_DEPRECATED'),
]
TYPE_HEADERS = ['gshmem/types.h', 'gshmem/version.h.in', 'gshmem/collectives.h.in']
# The C++ calls of kernels: the page's sections, by file; those in namespace gshmem are not part of it.
TEMPLATES = 'gshmem::put'
GROUPS = {
    'group_thread': 'the calling thread alone', 'group_warp': 'all threads of the calling warp',
    'group_block': 'all threads of the calling block',
    'group_warpgroup': 'all threads of four warps of the calling block that follow one another',
    'group_grid': 'all blocks of a collective launch; for collectives',
    'group_blocks': 'n blocks that run at the same time, the calling one is number i; for collectives',
}
OPERATIONS = ['op_' + name for name in ('sum', 'prod', 'min', 'max', 'and', 'or', 'xor')]
CONTEXTS = {'default_context': 'default_context() is the context of calls without one. The calls that take a context, '
                               'as their argument c, take it; context is the type of any.', 'context': ''}
HIDDEN = r'\w+_bits|complex_of|compute|domain|group_launch|unit_context|numbered_context'
# Pages that every page lists under SEE ALSO.
WAITS, PUTS = ['gshmem_wait_until', 'gshmem_test'], ['gshmem_put', 'gshmem_get', 'gshmem_put_signal', 'gshmem_atomic']
TEAMS = ['gshmem_team_t', 'gshmem_team_split_strided']
COLLECTIVES = ['gshmem_broadcast', 'gshmem_collect', 'gshmem_alltoall', 'gshmem_reduce', 'gshmem_scan']
SEE = {
    'gshmem_init': ['gshmemx_init_attr', 'GSHMEM_THREAD_SINGLE', 'gshmem_global_exit', 'gshmemrun(1)'],
    'gshmemx_init_attr': ['gshmemx_init_attr_t', 'GSHMEMX_INIT_THREAD_PES', 'GSHMEM_STATUS_NOT_INITIALIZED',
                          'gshmem_init'],
    'gshmem_global_exit': ['gshmem_init'],
    'gshmem_my_pe': ['gshmem_team_my_pe', 'gshmem_init'],
    'gshmem_ptr': ['gshmemx_heap_info', 'gshmem_malloc'],
    'gshmem_info_get_version': ['GSHMEM_MAJOR_VERSION'],
    'gshmemx_error_string': ['GSHMEMX_SUCCESS', 'gshmemx_error_t', 'gshmem_init'],
    'gshmemx_heap_info': ['gshmemx_heap_info_t', 'gshmem-info(1)'],
    'gshmem_malloc': ['GSHMEM_MALLOC_ATOMICS_REMOTE', 'gshmemx_buffer_register_symmetric', 'gshmemx_heap_info'],
    'gshmemx_buffer_register_symmetric': ['gshmem_malloc'],
    'gshmem_team_split_strided': ['gshmem_team_t', 'gshmem_team_config_t', 'gshmem_team_my_pe'],
    'gshmem_team_my_pe': TEAMS + ['gshmem_ctx_t'],
    'gshmem_ctx_create': ['gshmem_ctx_t', 'gshmem_fence', 'gshmem_team_config_t'],
    'gshmem_put': ['gshmem_get', 'gshmem_put_signal', 'gshmem_fence', 'gshmem_ctx_create', 'gshmem::put',
                   'gshmem::lend_shared'],
    'gshmem_get': ['gshmem_put', 'gshmem_fence', 'gshmem_ctx_create', 'gshmem::put', 'gshmem::lend_shared'],
    'gshmem_put_signal': ['gshmem_put', 'gshmemx_signal_op', 'gshmem_fence', 'GSHMEM_SIGNAL_SET'],
    'gshmemx_signal_op': ['gshmem_put_signal', 'GSHMEM_SIGNAL_SET', 'GSHMEM_CMP_EQ', *WAITS],
    'gshmem_atomic': ['gshmem_fence', 'gshmem_ctx_create', 'GSHMEM_TYPE_TABLE'],
    'gshmem_wait_until': ['gshmem_test', 'gshmemx_signal_op', 'GSHMEM_CMP_EQ'],
    'gshmem_test': ['gshmem_wait_until', 'gshmemx_signal_op', 'GSHMEM_CMP_EQ'],
    'gshmem_fence': [*PUTS, 'gshmem_barrier', 'gshmem_ctx_create'],
    'gshmem_barrier': ['gshmem_fence', *TEAMS],
    'gshmem_set_lock': ['gshmem_atomic'],
    'gshmem_launch': ['GSHMEM_DYNAMIC_SHARED', 'gshmemx_device_setup', 'gshmem_device.cuh'],
    'gshmemx_device_setup': ['gshmem_launch', 'gshmem_init'],
    'gshmem_device.cuh': ['gshmem::put', 'gshmem_launch', 'gshmem::lend_shared'],
    'gshmem::put': ['gshmem_device.cuh', *PUTS, 'gshmem_barrier', *COLLECTIVES],
    'gshmem::lend_shared': ['gshmem_put', 'gshmem_get', 'gshmem_device.cuh'],
    'GSHMEM_DYNAMIC_SHARED': ['gshmem_launch'],
    **{page: [*(other for other in COLLECTIVES if other != page), *TEAMS] for page in COLLECTIVES},
}
# The tools, and where each keeps the text that --help prints.
TOOLS = {'gshmemrun': 'tools/gshmemrun_options.c', 'gshmem-info': 'tools/info.c', 'gshmem-trace': 'tools/trace.c'}
LAUNCH = ['cudaError_t gshmem_launch(kernel, dim3 grid, dim3 block, size_t smem, cudaStream_t stream, args...)',
          'int gshmemx_collective_launch(kernel, dim3 grid, dim3 block, void **args, size_t smem, cudaStream_t stream)',
          'int gshmemx_collective_launch_query_gridsize(kernel, dim3 block, void **args, size_t smem, int *gridsize)']
SUFFIX = {
    'on_stream': 'gshmemx_..._on_stream enqueues the call on a stream, given as the last argument; it takes its turn '
                 'there. See also gshmem(7).',
    'warp': 'gshmemx_..._warp and gshmemx_..._block exist in kernels: all threads of the warp or of the block make the '
            'call, with the same arguments, and share the work. It behaves as if one thread had made it after the '
            "group's own synchronisation.",
    'grid': 'gshmemx_..._grid exists in kernels: all blocks of a collective launch make the call together.',
    'channel': 'gshmemx_..._channel takes the channel of the team as its last argument: calls on different channels '
            'may be under way at the same time.',
    'ctx': 'gshmem_ctx_... takes a context as its first argument: PEs are numbered as in its team, and it is ordered '
           'and completed apart from other contexts (gshmem_ctx_create(3)).',
}


class Names:
    """The public names, and their form with TYPE and BITS in place of types and sizes."""

    def __init__(self, root):
        table = open(os.path.join(root, 'include/gshmem/types.h'), encoding='utf-8').read()
        self.types = re.findall(r'^\s*R\(M(?:, \d){7}, (\w+),', table, re.M) + ['complexf', 'complexd']
        self.type = '|'.join(sorted(self.types, key=len, reverse=True))
        self.all, self.where = [], {}
        with open(os.path.join(root, 'tests/api/names.txt'), encoding='utf-8') as lines:
            for line in lines:
                words = line.split()
                if words and not line.startswith('#') and not re.search(r'^cpu$|^layer$|detail', words[1]) and \
                        not words[0].isupper() and not words[0].startswith('gshmem_c_'):
                    self.all.append(words[0])
                    self.where[words[0]] = words[1]

    def form(self, name):
        name = re.sub(rf'^(gshmemx?_(?:ctx_)?)(?:{self.type})_', r'\1TYPE_', name)
        return re.sub(r'((?:put|get)(?:mem)?)(?:8|16|32|64|128)(?=_|$)', r'\1BITS', name)

    @staticmethod
    def stem(form):
        """The name that FAMILIES uses for it."""
        stem = re.sub(r'^gshmemx?_', '', form)
        if not re.match(r'ctx_(create|destroy|get_team)$', stem):
            stem = re.sub(r'^ctx_', '', stem)
        stem = re.sub(r'(_(warp|block|grid|on_stream))+$', '', stem.replace('TYPE_', '').replace('NAME_', ''))
        stem = stem.replace('BITS', '').replace('OP_', 'sum_' if 'reduce' in stem else '')
        return stem.replace('atomic_OP', 'atomic_add')


def clean(comment):
    """A comment's paragraphs, without the section's title, with references that a reader of a page can follow."""
    first, *rest = comment.strip()[2:-2].strip('\n').split('\n')
    text = '\n'.join([first.strip()] + [re.sub(r'^\s*\* ?', '', line) for line in rest])
    text = re.sub(r'^\s*-{4} .*$', '', text, count=1, flags=re.M)
    text = text.replace('SPDX-License-Identifier: Apache-2.0\n', '')
    text = text.replace('memory model (gshmem.h)', 'memory model (gshmem(7))')
    text = text.replace('gshmem_NAME_', 'gshmem_TYPE_')
    text = text.replace('calls marked [hd] then exist', 'calls whose pages say so then exist')
    text = text.replace('the calls that are marked [hd] there', 'the calls whose pages say so')
    return [p.strip('\n') for p in re.split(r'\n\s*\n', text) if p.strip()]


def expanded(code):
    """Expands uses of macros whose first parameter is OP, each of which yields one call."""
    for name, body in re.findall(r'^#define (\w+)\(OP, [^)]*\)(.*)$', code, re.M):
        code = re.sub(rf'^#define {name}\(.*$', '', code, flags=re.M)
        code = re.sub(rf'\b{name}\((\w+), [^)]*\)', lambda use: body.replace('##OP##', use[1]), code)
    return code


def declarations(code):
    code = expanded(re.sub(r'\\\n', ' ', code))
    code = re.sub(r'GSHMEM_CALL\(([^)]*)\)', r'gshmem_\1', code).replace('##', '')
    code = re.sub(r'GSHMEM_CTX\b', '', code)
    code = re.sub(r'^\s*#\s*define \w+(\([^)]*\))?', ';', code, flags=re.M)
    code = re.sub(r'^\s*#.*$', ';', code, flags=re.M)
    for found in re.finditer(r'(?:^|[;{}])\s*((?:const )?\w+(?:\s*\*+)?)\s*(gshmem\w+)\s*'
                             r'\((?!\*)((?:[^();]|\([^()]*\))*)\)\s*(?=;)', code, re.S):
        result, name, parameters = (' '.join(part.split()) for part in found.groups())
        if result.split()[0] not in ('return', 'define', 'else'):
            yield name, re.sub(r'\* (?=\w)', '*', f'{result} {name}({parameters});'.replace(' * ', ' *'))


def parse(root):
    """(declared name, prototype, the rules of its section, its contract) for each declaration."""
    rows = []
    for header in HEADERS:
        text = open(os.path.join(root, 'include', header), encoding='utf-8').read()
        if header == 'gshmem/launch.h':
            contract = clean(re.search(r'/\* gshmem_launch\(.*?\*/', text, re.S)[0])
            rows += [(re.search(r'gshmemx?_\w+', line)[0], line + ';', [], contract) for line in LAUNCH]
            continue
        pieces = re.split(r'(/\*.*?\*/)', text, flags=re.S)
        head = clean(pieces[1]) if header.startswith('gshmem/') else []
        section, contract = [], []
        for before, piece in zip(pieces[1:], pieces[2:]):
            if piece.startswith('/*'):
                paragraphs = clean(piece)
                if re.match(r'/\* -{4}', piece):
                    section, contract = paragraphs, []
                elif re.search(r';[ \t]*\Z', before):  # after a declaration, on its line: describes that one
                    rows[-1] = (*rows[-1][:3], paragraphs)
                elif paragraphs:
                    contract = paragraphs
            else:
                for name, prototype in declarations(piece):
                    rows.append((name, prototype, section or (head[1:] if header == 'gshmem/collectives.h.in' else []),
                                 contract))
    return rows


def roff(text):
    text = text.replace('\\', '\\e').replace('-', '\\-')
    return '\n'.join('\\&' + line if line[:1] in ".'" else line for line in text.split('\n'))


def paragraph(text):
    """Lines with deeper indentation keep their line breaks: a list or a table."""
    if re.search(r'^ {2,}\S|^ \S.*\S {2,}\S', text, re.M):
        return '.PP\n.nf\n' + roff(text.replace('`', '')) + '\n.fi\n'
    return '.PP\n' + roff(' '.join(text.replace('`', '').split())) + '\n'


def sides(members, names):
    """Where the calls of a page may be made; forms for a stream or a group say so themselves."""
    found = {}
    for member in members:
        form, where = names.form(member), names.where[member].split(',')
        if not re.search(r'_(warp|block|grid|channel|on_stream)$|^gshmemx?_ctx_(?!create|destroy|get_team)', form):
            is_kernel = bool({'device', 'plain', 'nogpu'} & set(where))
            who = 'Kernels' if where[0] in ('device', 'nogpu') else \
                'Host code and kernels' if is_kernel else 'Host code'
            # long double and complex numbers exist on the host only, under names that have all types
            if found.get(form) != 'Host code and kernels':
                found[form] = who
    if len(set(found.values())) == 1:
        return [next(iter(found.values())) + '.']
    return [f'{who}: ' + ', '.join(form for form in found if found[form] == who) + '.'
            for who in sorted(set(found.values()))]


def rows_of(text, stems):
    """A table whose rows begin with calls keeps the rows of this page's calls."""
    out, is_kept = [], True
    for line in text.split('\n'):
        if row := re.match(r' {1,2}((?:[a-z_]+(?:, )?)+)  +\S', line):
            calls = row[1].split(', ')
            is_table = any(re.fullmatch('|'.join(pattern for _, _, pattern in FAMILIES), call) for call in calls)
            is_kept = not is_table or bool(set(calls) & stems)
        if is_kept:
            out.append(line)
    return '\n'.join(out)


def form_prototype(form, prototypes):
    """The prototype of a form for a context, a group, a channel or a stream, derived from the call itself."""
    suffixes = re.search(r'((?:_(?:warp|block|grid|channel|on_stream))*)$', form)[1]
    plain = form[:len(form) - len(suffixes)]
    is_ctx = bool(re.match(r'gshmemx?_ctx_', plain))
    stem = re.sub(r'^gshmemx?_(ctx_)?', '', plain)
    for base in (f'gshmem_{stem}', f'gshmemx_{stem}'):
        for candidate in (base, re.sub('_(and|or|xor|min|max|sum|prod)_(?=reduce)', '_OP_', base)):
            if candidate in prototypes:
                found = re.fullmatch(r'(.*?)(gshmemx?_\w+)\((.*)\);', prototypes[candidate])
                parameters = [] if found[3] == 'void' else [found[3]]
                if is_ctx:
                    parameters.insert(0, 'gshmem_ctx_t ctx')
                parameters += ['int channel'] * ('_channel' in suffixes)
                parameters += ['gshmemx_stream_t stream'] * ('_on_stream' in suffixes)
                shown = form if candidate == base else re.sub('_(and|or|xor|min|max|sum|prod)_(?=reduce)', '_OP_', form)
                return f'{found[1]}{shown}({", ".join(parameters) or "void"});'
    return None


def see_also(name):
    mine = SEE.get(name, ())
    others = [*mine, *(page for page, pages in SEE.items() if name in pages and page not in mine)]
    names = [re.sub(r'\((\d)\)$', r' (\1)', other) if other.endswith(')') else other + ' (3)' for other in others]
    return '.SH SEE ALSO\n' + ''.join(f'.BR {other},\n' for other in dict.fromkeys(names)) + '.BR gshmem (7)\n'


def page(name, what, members, rows, names, version):
    forms = sorted({names.form(member) for member in members})
    stems = {names.stem(form) for form in forms}
    mine = [row for row in rows if names.stem(row[0].replace('NAME_', 'TYPE_')) in stems]
    out = [f'.TH {name} 3 "" "gshmem {version}" "gshmem"\n.SH NAME\n{name} \\- {roff(what)}\n.SH SYNOPSIS\n.nf\n']
    header = 'gshmemx.h' if name.startswith('gshmemx') else 'gshmem.h'
    out.append(f'\\fB#include <{header}>\\fP           (in files with kernels: \\fB<gshmem_device.cuh>\\fP)\n\n')
    seen = []
    for _, prototype, _, _ in mine:
        prototype = prototype.replace('_NAME_', '_TYPE_')
        if prototype not in seen and not re.search(r'_on_stream\(', prototype):
            seen.append(prototype)
    out += [roff(prototype) + '\n' for prototype in seen] + ['.fi\n.SH DESCRIPTION\n']
    prototypes = {re.search(r'(gshmemx?_\w+)\(', prototype)[1]: prototype for prototype in seen}
    told, groups = [], []
    for declared, _, section, contract in mine:
        for text in section:
            if text not in told:
                told.append(text)
        declared = declared.replace('_NAME_', '_TYPE_')
        if any(declared in group[0] and group[1] != contract for group in groups):
            continue  # declared again, for other types
        if groups and groups[-1][1] == contract:
            groups[-1][0].append(declared)
        elif contract and (contract not in [group[1] for group in groups]):
            groups.append(([declared], contract))
    if not told and not groups:
        sys.exit(f'{name}: no contract in the headers')
    out += [paragraph(rows_of(text, stems)) for text in told]
    for declared, contract in groups:
        is_headed = len(groups) > 1 or len(set(declared)) > 1
        if is_headed:
            out.append('.PP\n\\fB' + '\\fP, \\fB'.join(dict.fromkeys(map(roff, declared))) + '\\fP\n.RS 4\n')
        out += [paragraph(text) for text in (rows_of(text, stems) for text in contract) if text.strip()]
        if is_headed:
            out.append('.RE\n')
    if any('TYPE' in form for form in forms):
        types = sorted({re.sub(r'^gshmemx?_(ctx_)?', '', m).split('_')[0] for m in members
                        if names.form(m) != m and 'TYPE' in names.form(m)}, key=names.types.index)
        out.append('.SH TYPES\n' + paragraph('TYPE is one of ' + ', '.join(types) + '. Without _TYPE in the name the '
                   'generic call, a macro in C and an overload in C++, chooses by its arguments.'))
    if any('BITS' in form for form in forms):
        out.append(paragraph('BITS, the size of an element, is one of 8, 16, 32, 64 and 128.'))
    where = sides(members, names)
    if where:
        out.append('.SH CALLED BY\n' + ''.join(map(paragraph, where)))
    notes = [SUFFIX['ctx']] if any(f.startswith(('gshmem_ctx_', 'gshmemx_ctx_')) for f in forms) and \
        name not in ('gshmem_ctx_create', 'gshmem_team_my_pe') else []
    notes += [note for suffix, note in SUFFIX.items()
              if suffix != 'ctx' and any(re.search(rf'_{suffix}(_|$)', form) for form in forms)]
    if notes:
        out.append('.SH FORMS\n' + ''.join(paragraph(note) for note in notes))
        derived = dict.fromkeys(filter(None, (form_prototype(form, prototypes) for form in forms
                                              if form not in prototypes)))
        derived = [prototype for prototype in derived if prototype not in seen]
        if derived:
            out.append('.PP\n.nf\n' + ''.join(roff(prototype) + '\n' for prototype in derived) + '.fi\n')
    shown = set(re.findall(r'(gshmemx?_\w+)\(', ''.join(out)))
    others = [form for form in forms if form not in shown]
    if others:
        out.append('.SH NAMES\n.nf\n' + ''.join(roff(form) + '\n' for form in others) + '.fi\n')
    return ''.join(out) + see_also(name)


def items(root):
    """(name, text, contract, header) for each type, constant and macro of TYPE_HEADERS."""
    pattern = re.compile(
        r'(?P<comment>/\*.*?\*/)(?P<end>[ \t]*\n)?|(?P<enum>enum \{(?:/\*.*?\*/|[^}])*\};)|'
        r'(?P<type>(?:__extension__ )?typedef (?:struct(?: \w+)? \{(?:/\*.*?\*/|[^}])*\} |[^;{]*?)(?P<name>\w+)'
        r'(?:\)\([^;]*\))?;)|'
        r'(?P<define>^[ ]*#define (?P<macro>\w+)(?:\\\n|[^\n])*)|(?P<blank>\n[ \t]*\n)', re.S | re.M)
    for header in TYPE_HEADERS:
        with open(os.path.join(root, 'include', header), encoding='utf-8') as file:
            text = file.read()
        contract, at = '', 0
        while found := pattern.search(text, at):
            at = found.end() - (1 if found['blank'] or found['end'] else 0)
            if found['comment']:
                line = text[text.rfind('\n', 0, found.start()) + 1:found.start()]
                if not line.strip():
                    contract = found['comment']
            elif found['blank']:
                if not text[:found.start()].rstrip().endswith('*/'):
                    contract = ''
            else:
                whole, behind = found[0], re.compile(r'[ \t]*(/\*.*?\*/)', re.S).match(text, found.end())
                if behind and '\n' not in text[found.end():behind.start(1)]:
                    whole, at = whole + '  ' + behind[1], behind.end()
                if found['define'] and re.search(r'\{\s*\\', whole):  # an initialiser: its name is enough
                    whole = f'#define {found["macro"]} ...'
                if found['define'] and whole.count('\n') < 4:  # else a table, which keeps its lines
                    whole = re.sub(r'\s*\\\n\s*| {2,}', ' ', whole)
                for name in re.findall(r'\b(GSHMEMX?_\w+) *(?:=|,|\})', whole) if found['enum'] else \
                        [found['name'] or found['macro']]:
                    yield name, whole, contract, header.replace('.in', '')


def types_page(name, what, pattern, rows, version):
    mine = [row for row in rows if re.fullmatch(pattern, row[0])]
    if not any(row[2] for row in mine):
        sys.exit(f'{name}: no contract in the headers')
    names, header = list(dict.fromkeys(row[0] for row in mine)), mine[0][3]
    other = [member for member in names if member != name]
    out = [f'.TH {name} 3 "" "gshmem {version}" "gshmem"\n.SH NAME\n{name} \\- {roff(what)}\n',
           '.SH SYNOPSIS\n.nf\n\\fB#include <gshmem.h>\\fP' + ('' if header != 'gshmem/collectives.h' else
                                                            '           (C, and C++ with GNU extensions)') + '\n\n',
           *(roff(text) + '\n' for text in dict.fromkeys(row[1] for row in mine)), '.fi\n.SH DESCRIPTION\n']
    for contract in dict.fromkeys(row[2] for row in mine if row[2]):
        out += map(paragraph, clean(contract.replace('/* clang-format off */', '')))
    if other:
        out.append('.SH NAMES\n.nf\n' + ''.join(roff(member) + '\n' for member in [name, *other]) + '.fi\n')
    return names, ''.join(out) + see_also(name)


def templates(root, command):
    """name -> (file, prototype) of what namespace gshmem has for kernels, without its namespaces detail and cpu."""
    text = subprocess.run([*command, '-E', '-std=c++17', '-x', 'c++', '-include', 'gshmem_device.cuh', '/dev/null'],
                          check=True, stdout=subprocess.PIPE, text=True).stdout
    found, depth, file, kept = {}, [], '', []
    tokens = r'^# \d+ "([^"]*)".*$|\bnamespace (\w+)\s*\{|[{}]|"(?:[^"\\]|\\.)*"|[^{}"#\n]+|#|\n'
    for token in re.finditer(tokens, text, re.M):
        if token[1] is not None:
            file = token[1]
        elif token[2] == 'gshmem' and 'gshmem' not in depth:  # system headers may have left braces open
            depth = ['gshmem']
        elif token[2] or token[0] == '{':
            depth.append(token[2] or '')
            if len(depth) == 2 and depth[0] == 'gshmem':
                kept.append((file, ';'))
        elif token[0] == '}':
            depth = depth[:-1]
        elif depth == ['gshmem']:
            kept.append((file, token[0]))
    where = [(file, part) for file, parts in kept for part in re.split(r'(;)', parts)]
    statement = ''
    for file, part in where:
        if part != ';':
            statement += part
            continue
        words = re.sub(r'__attribute__\s*\(\(.*?\)\)|\b(inline|static|constexpr|__inline__)\b', ' ',
                       re.sub(r'^#.*$', '', statement, flags=re.M))
        statement, words = '', ' '.join(words.split())
        call = re.fullmatch(r'(template ?<[^>]*> ?)?(.*?[ *])(\w+)\((.*)\)', words)
        kind = re.fullmatch(r'(?:template ?<[^>]*> ?)?(?:struct|enum class|enum|typedef .*) (\w+)(?: : .*)?', words)
        if call and not re.search(r'operator|=\s*$', call[2]):
            parameters = re.sub(r', const char \*(?:call|name) = (?:"[^"]*" ?)+', '', call[4]).strip()
            is_plain = not re.match(r'const Context &', parameters)
            form = f'{call[1] or ""}{call[2]}{call[3]}({parameters});'
            before = found.get(call[3])
            if before is None or is_plain and before[2] is False:
                found[call[3]] = (file, form, is_plain)
        elif kind:
            found.setdefault(kind[1], (file, '', True))
    return {name: row for name, row in found.items() if not re.fullmatch(HIDDEN, name)}


def templates_page(root, found, version):
    with open(os.path.join(root, 'device/coll/coll.cuh'), encoding='utf-8') as file:
        rules = clean(re.search(r'/\*.*?\*/', file.read(), re.S)[0])
    known = [*GROUPS, *OPERATIONS, *CONTEXTS, 'lend_shared', 'take_back_shared']
    calls = {name: row for name, row in found.items() if name not in known}
    for name in [*GROUPS, *OPERATIONS, *CONTEXTS]:
        if name not in found:
            sys.exit(f'gshmem::{name}: not found in device/')
    for name, row in calls.items():
        if not row[1]:
            sys.exit(f'gshmem::{name}: no man page; add it to docs/man/generate.py')
    is_collective = {name: '/coll/' in row[0] for name, row in calls.items()}
    out = [f'.TH {TEMPLATES} 3 "" "gshmem {version}" "gshmem"\n.SH NAME\n{TEMPLATES} \\- calls of kernels as C++ '
           'templates\n.SH SYNOPSIS\n.nf\n\\fB#include <gshmem_device.cuh>\\fP\n\nnamespace gshmem {\n',
           *(roff(row[1]) + '\n' for name, row in calls.items() if not is_collective[name]),
           *(roff(row[1]) + '\n' for name, row in calls.items() if is_collective[name]), '}\n.fi\n.SH DESCRIPTION\n',
           paragraph('Each call does what the call gshmem_..., gshmem_TYPE_... or gshmemx_... of the same name does, '
                     'for any type of the type table (GSHMEM_TYPE_TABLE(3)). The group g says which threads make '
                     'the call together, with the same arguments, and share its work:'),
           paragraph('\n'.join(f'  {name + ("{i, n}" if name == "group_blocks" else "()"):<20}{text}'
                               for name, text in GROUPS.items())),
           paragraph(CONTEXTS['default_context'] +
                     ' channel is one of the channels of the team (gshmem_team_config_t(3)).'),
           '.SS Collectives\n',
           paragraph('They are called with default_context() as c. Op of a reduce is one of ' +
                     ', '.join('gshmem::' + op for op in OPERATIONS) + '. A scan with is_inclusive counts its own '
                     'member.'),
           paragraph('  gshmem::reduce<gshmem::op_sum>(gshmem::default_context(), gshmem::group_block(), team, dest,\n'
                     '                                 source, nelems);'),
           *map(paragraph, rules)]
    names = ['gshmem::' + name for name in [*calls, *GROUPS, *OPERATIONS, *CONTEXTS]]
    out.append('.SH NAMES\n.nf\n' + ''.join(name + '\n' for name in names) + '.fi\n')
    return names, ''.join(out) + see_also(TEMPLATES)


def thing(root, name, version):
    what, header, pattern, others = THINGS[name]
    found = re.search(pattern, open(os.path.join(root, header if header.startswith('device') else
                                                 'include/' + header), encoding='utf-8').read(), re.S)
    if found is None:
        sys.exit(f'{name}: not found in {header}')
    out = [f'.TH {name} 3 "" "gshmem {version}" "gshmem"\n.SH NAME\n{", ".join([name, *others])} \\- {roff(what)}\n',
           '.SH SYNOPSIS\n.nf\n' + ('' if name == 'gshmem_device.cuh' else '\\fB#include <gshmem_device.cuh>\\fP\n\n'),
           roff(PROTOTYPES[name]), '\n.fi\n.SH DESCRIPTION\n', *map(paragraph, clean(found[1]))]
    return ''.join(out) + see_also(name)


def tool(root, name, version):
    """From the text in this folder: a line in capitals is a section's title, @OPTIONS@ is the output of --help."""
    with open(os.path.join(root, TOOLS[name]), encoding='utf-8') as file:
        printed = re.search(r'"usage: (?:"\s*"|[^"\\]|\\.)*"', file.read())[0]
    usage = re.sub(r'"\s*"', '', printed)[1:-1].replace('\\n', '\n')
    options = '\n'.join(line for line in usage.split('\n') if re.match(r' {2,}-', line))
    with open(os.path.join(root, 'docs/man', name + '.txt'), encoding='utf-8') as file:
        text = file.read().replace('@OPTIONS@', options)
    out = [f'.TH {name} 1 "" "gshmem {version}" "gshmem"\n']
    for part in re.split(r'\n\s*\n', text.strip('\n')):
        out.append(f'.SH {part}\n' if part.isupper() else paragraph(part))
    return ''.join(out).replace('.SH NAME\n.PP\n', '.SH NAME\n')


def overview(root, version):
    """gshmem(7): the head of gshmem.h, whose tables keep their columns."""
    text = open(os.path.join(root, 'include/gshmem.h'), encoding='utf-8').read()
    out = [f'.TH gshmem 7 "" "gshmem {version}" "gshmem"\n.SH NAME\ngshmem \\- symmetric memory for GPU clusters\n'
           '.SH DESCRIPTION\n']
    for part in clean(re.search(r'/\*.*?\*/', text, re.S)[0]):
        title = re.match(r'(Words|Errors|Memory model)[. ]', part)
        if title:
            out.append(f'.SH {title[1].upper()}\n')
            part = part[title.end():].lstrip() if title[0].endswith('.') else part
        out.append(f'.nf\n{roff(part)}\n.fi\n' if '  ' in part.strip() else paragraph(part))
    pages = ', '.join([f'{name}(3)' for name, _, _ in FAMILIES] + [f'{name}(3)' for name, _, _ in TYPES] +
                      [f'{name}(3)' for name in THINGS] + [f'{TEMPLATES}(3)'] +
                      [f'{name}(1)' for name in TOOLS])
    out.append('.SH PAGES\n' + paragraph(pages))
    return ''.join(out)


def main():
    root, version, output, *compiler = sys.argv[1:]
    names, rows = Names(root), parse(root)
    members = {name: [] for name, _, _ in FAMILIES}
    for public in names.all:
        stem = names.stem(names.form(public))
        for name, _, pattern in FAMILIES:
            if re.fullmatch(pattern, stem):
                members[name].append(public)
                break
        else:
            sys.exit(f'{public}: no man page; add it to FAMILIES in docs/man/generate.py')
    shutil.rmtree(output, ignore_errors=True)
    for section in ('man1', 'man3', 'man7'):
        os.makedirs(os.path.join(output, section))
    files = {}
    for name, what, _ in FAMILIES:
        for public in members[name]:
            files[public] = f'.so man3/{name}.3\n'
            # The generic call, which takes a context under the same name.
            if re.match(r'gshmem_TYPE_', names.form(public)):
                files.setdefault(re.sub('TYPE_', '', names.form(public)), f'.so man3/{name}.3\n')
    for name, what, _ in FAMILIES:
        files[name] = page(name, what, members[name], rows, names, version)
    for name, (_, _, _, others) in THINGS.items():
        files[name] = thing(root, name, version)
        files.update({other: f'.so man3/{name}.3\n' for other in others})
    rows_of_types = list(items(root))
    for name, what, pattern in TYPES:
        others, text = types_page(name, what, pattern, rows_of_types, version)
        files.update({other: f'.so man3/{name}.3\n' for other in others})
        files[name] = text
    others, text = templates_page(root, templates(root, compiler), version)
    files.update({other: f'.so man3/{TEMPLATES}.3\n' for other in others if other not in files})
    files[TEMPLATES] = text
    files['gshmem_sync'] = '.so man3/gshmem_barrier.3\n'
    for name, text in files.items():
        with open(os.path.join(output, 'man3', name + '.3'), 'w', encoding='utf-8') as file:
            file.write(text)
    for name in TOOLS:
        with open(os.path.join(output, 'man1', name + '.1'), 'w', encoding='utf-8') as file:
            file.write(tool(root, name, version))
    with open(os.path.join(output, 'man7', 'gshmem.7'), 'w', encoding='utf-8') as file:
        file.write(overview(root, version))


if __name__ == '__main__':
    main()
