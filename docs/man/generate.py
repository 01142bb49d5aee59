#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the man pages from the contracts in the public headers: one page for each family of calls, a link to it for
each name, and gshmem(7), which is the head of gshmem.h. The tools' pages are the texts beside this script, with the
options that the tools print.

    generate.py ROOT VERSION OUTPUT_DIR

A contract is the comment in front of declarations, or behind one in its line; a section's rules stand in the comment
with its title. Which declarations share a page, in this order, FAMILIES says; THINGS are pages of what is no function
of C. A public name without a page, or a page without a contract, is an error."""
import os, re, shutil, sys

HEADERS = ['gshmem.h', 'gshmem/typed.h', 'gshmem/typed_calls.h', 'gshmem/collectives.h', 'gshmemx.h', 'gshmem/launch.h']

# page, what stands behind its name, and the calls by their names without gshmem_, types, sizes and suffixes
FAMILIES = [
    ('gshmem_init', 'start and end a PE', 'init|init_thread|query_thread|query_initialized|pcontrol|finalize'),
    ('gshmemx_init_attr', 'start by MPI communicator, unique id or threads',
     'init_attr|init_status|get_uniqueid|set_attr_.*|run'),
    ('gshmem_global_exit', 'end all PEs', 'global_exit'),
    ('gshmem_my_pe', 'number of this PE, and of all', 'my_pe|n_pes'),
    ('gshmem_ptr', 'addresses of other PEs', 'ptr|team_ptr|pe_accessible|addr_accessible'),
    ('gshmem_info_get_version', 'versions and names', 'info_get_.*|vendor_get_version_info'),
    ('gshmemx_error_string', 'what went wrong', 'error_string|call_prefix'),
    ('gshmemx_heap_info', 'heap, route and device of a PE', 'heap_info|route_name|device_name'),
    ('gshmem_malloc', 'symmetric memory', 'malloc|calloc|align|malloc_with_hints|realloc|free'),
    ('gshmemx_buffer_register_symmetric', "memory of the program's own", 'buffer_.*|is_symmetric'),
    ('gshmem_team_split_strided', 'make and end teams',
     'team_split_.*|team_get_config|team_destroy|team_create|team_get_uniqueid|team_init'),
    ('gshmem_team_my_pe', 'numbers of PEs in teams', 'team_my_pe|team_n_pes|team_translate_pe|ctx_get_team'),
    ('gshmem_ctx_create', 'communication contexts', 'ctx_create|team_create_ctx|ctx_destroy'),
    ('gshmem_put', 'copy to another PE', 'put|putmem|p|iput|ibput|(put|putmem|iput)_nbi'),
    ('gshmem_get', 'copy from another PE', 'get|getmem|g|iget|ibget|(get|getmem|iget)_nbi'),
    ('gshmem_put_signal', 'copy to another PE and signal it', '(put|putmem)_signal(_nbi)?'),
    ('gshmem_signal_op', 'change, read and wait for a signal', 'signal_.*'),
    ('gshmem_atomic', 'atomics on memory of another PE', 'atomic_.*'),
    ('gshmem_wait_until', 'wait for memory to change', 'wait_until.*'),
    ('gshmem_test', 'look whether memory has changed', 'test|test_(all|any|some).*'),
    ('gshmem_fence', 'order and complete puts', 'fence|quiet|pe_quiet'),
    ('gshmem_barrier', 'barrier and sync', 'barrier|barrier_all|sync_all|team_sync|(barrier|team_sync)_lane'),
    ('gshmem_set_lock', 'distributed locks', 'set_lock|test_lock|clear_lock'),
    ('gshmem_broadcast', 'from one member of a team to all', 'broadcast|broadcastmem'),
    ('gshmem_collect', 'from all members of a team to all', 'f?collect|f?collectmem'),
    ('gshmem_alltoall', 'from each member of a team to each', 'alltoalls?|alltoalls?mem'),
    ('gshmem_reduce', 'reductions over a team', '.*_reduce|.*_reducescatter'),
    ('gshmem_scan', 'prefix sums over a team', '.*_(in|ex)scan'),
    ('gshmem_launch', 'launch kernels on either device', 'launch|collective_launch|collective_launch_query_gridsize'),
    ('gshmemx_device_setup', 'set the device up, and modules', 'device_setup|stream_check|module_.*|cumodule_.*|culibrary_.*'),
]
# page: what stands behind its name, header, a pattern whose groups are contract and declarations, other names
THINGS = {
    'gshmem_team_config_t': ('what a team has besides its members', 'gshmem/types.h',
                             r'(/\*(?:(?!\*/).)*?\*/)\n(typedef struct \{(?:(?!\}).)*\} gshmem_team_config_t;'
                             r'(?:\n#define GSHMEMX?_TEAM_NUM_\w+ +\w+)*)', []),
    'GSHMEM_DYNAMIC_SHARED': ('dynamic shared memory on either device', 'gshmem/launch.h',
                              r'(/\* In a kernel, declares(?:(?!\*/).)*\*/)()', []),
    'gshmem::lend_shared': ('shared memory for large copies by threads and warps', 'device/bulk.cuh',
                            r'(/\* Lends shared memory(?:(?!\*/).)*\*/)()', ['gshmem::take_back_shared']),
}
PROTOTYPES = {
    'GSHMEM_DYNAMIC_SHARED': 'GSHMEM_DYNAMIC_SHARED(T, name);        // in a kernel: T *name',
    'gshmem::lend_shared': 'void gshmem::lend_shared(void *shared, size_t bytes);\nvoid gshmem::take_back_shared();',
}
# Pages that name one of THINGS under SEE ALSO.
SEE = {
    'gshmem_team_split_strided': ['gshmem_team_config_t'],
    'gshmem_launch': ['GSHMEM_DYNAMIC_SHARED'],
    'gshmem_put': ['gshmem::lend_shared'],
    'gshmem_get': ['gshmem::lend_shared'],
}
# The tools, and where each keeps the text that --help prints.
TOOLS = {'gshmemrun': 'tools/gshmemrun_options.c', 'gshmem-info': 'tools/info.c'}
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
    'lane': 'gshmemx_..._lane takes the lane of the team as its last argument: calls on different lanes may be under '
            'way at the same time.',
    'ctx': 'gshmem_ctx_... takes a context as its first argument: PEs are numbered as in its team, and it is ordered '
           'and completed apart from other contexts (gshmem_ctx_create(3)).',
}


class Names:
    """The public names, and what they look like with TYPE and BITS in place of types and sizes."""

    def __init__(self, root):
        table = open(os.path.join(root, 'include/gshmem/types.h'), encoding='utf-8').read()
        self.types = re.findall(r'^\s*R\(M(?:, \d){7}, (\w+),', table, re.M) + ['complexf', 'complexd']
        self.type = '|'.join(sorted(self.types, key=len, reverse=True))
        self.all, self.where = [], {}
        with open(os.path.join(root, 'tests/api/names.txt'), encoding='utf-8') as lines:
            for line in lines:
                words = line.split()
                if words and not line.startswith('#') and words[1] not in ('cpu', 'layer'):
                    self.all.append(words[0])
                    self.where[words[0]] = words[1]

    def form(self, name):
        name = re.sub(rf'^(gshmemx?_(?:ctx_)?)(?:{self.type})_', r'\1TYPE_', name)
        return re.sub(r'((?:put|get)(?:mem)?)(?:8|16|32|64|128)(?=_|$)', r'\1BITS', name)

    @staticmethod
    def stem(form):
        """What FAMILIES calls it."""
        stem = re.sub(r'^gshmemx?_', '', form)
        if not re.match(r'ctx_(create|destroy|get_team)$', stem):
            stem = re.sub(r'^ctx_', '', stem)
        stem = re.sub(r'(_(warp|block|grid|on_stream))+$', '', stem.replace('TYPE_', '').replace('NAME_', ''))
        return stem.replace('BITS', '').replace('OP_', 'sum_' if 'reduce' in stem else '').replace('atomic_OP', 'atomic_add')


def clean(comment):
    """A comment's paragraphs, without the section's title, with references that a reader of a page can follow."""
    first, *rest = comment.strip()[2:-2].strip('\n').split('\n')
    text = '\n'.join([first.strip()] + [re.sub(r'^\s*\* ?', '', line) for line in rest])
    text = re.sub(r'^\s*-{4} .*$', '', text, count=1, flags=re.M)
    text = text.replace('SPDX-License-Identifier: Apache-2.0\n', '')
    text = text.replace('memory model (gshmem.h)', 'memory model (gshmem(7))')
    text = text.replace('gshmem_NAME_', 'gshmem_TYPE_')
    text = text.replace('calls marked [hd] then exist', 'calls whose pages say so then exist')
    return [p.strip('\n') for p in re.split(r'\n\s*\n', text) if p.strip()]


def expanded(code):
    """With the uses of macros whose first parameter is OP, of which each use gives one call, replaced."""
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
    for found in re.finditer(r'(?:^|[;{}])\s*((?:const )?\w+(?:\s*\*+)?)\s*(gshmem\w+)\s*\((?!\*)((?:[^();]|\([^()]*\))*)\)\s*(?=;)',
                             code, re.S):
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
                elif re.search(r';[ \t]*\Z', before):  # behind a declaration, in its line: about that one
                    rows[-1] = (*rows[-1][:3], paragraphs)
                elif paragraphs:
                    contract = paragraphs
            else:
                for name, prototype in declarations(piece):
                    rows.append((name, prototype, section or (head[1:] if header == 'gshmem/collectives.h' else []),
                                 contract))
    return rows


def roff(text):
    text = text.replace('\\', '\\e').replace('-', '\\-')
    return '\n'.join('\\&' + line if line[:1] in ".'" else line for line in text.split('\n'))


def paragraph(text):
    """Lines that are set in further keep their line breaks: a list or a table."""
    if re.search(r'^ {2,}\S', text, re.M):
        return '.PP\n.nf\n' + roff(text.replace('`', '')) + '\n.fi\n'
    return '.PP\n' + roff(' '.join(text.replace('`', '').split())) + '\n'


def sides(members, names):
    """Where the calls of a page may be made; forms for a stream or a group say so themselves."""
    found = {}
    for member in members:
        form, where = names.form(member), names.where[member].split(',')
        if not re.search(r'_(warp|block|grid|lane|on_stream)$|^gshmemx?_ctx_(?!create|destroy|get_team)', form):
            who = 'Host code and kernels' if len(where) > 1 else 'Kernels' if where == ['device'] else 'Host code'
            # long double and complex numbers are of the host alone, under names that have all types
            if found.get(form) != 'Host code and kernels':
                found[form] = who
    if len(set(found.values())) == 1:
        return [next(iter(found.values())) + '.']
    return [f'{who}: ' + ', '.join(form for form in found if found[form] == who) + '.'
            for who in sorted(set(found.values()))]


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
    told, groups = [], []
    for declared, _, section, contract in mine:
        for text in section:
            if text not in told:
                told.append(text)
        declared = declared.replace('_NAME_', '_TYPE_')
        if groups and groups[-1][1] == contract:
            groups[-1][0].append(declared)
        elif contract and (contract not in [group[1] for group in groups]):
            groups.append(([declared], contract))
    if not told and not groups:
        sys.exit(f'{name}: no contract in the headers')
    out += [paragraph(text) for text in told]
    for declared, contract in groups:
        if len(groups) > 1:
            out.append('.PP\n\\fB' + '\\fP, \\fB'.join(dict.fromkeys(map(roff, declared))) + '\\fP\n.RS 4\n')
        out += [paragraph(text) for text in contract]
        if len(groups) > 1:
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
    out.append('.SH NAMES\n.nf\n' + ''.join(roff(form) + '\n' for form in forms) + '.fi\n')
    others = [thing for thing in THINGS if thing in SEE.get(name, ())]
    out.append('.SH SEE ALSO\n' + ''.join(f'.BR {other} (3),\n' for other in others) + '.BR gshmem (7)\n')
    return ''.join(out)


def thing(root, name, version):
    what, header, pattern, others = THINGS[name]
    found = re.search(pattern, open(os.path.join(root, header if header.startswith('device') else
                                                 'include/' + header), encoding='utf-8').read(), re.S)
    if found is None:
        sys.exit(f'{name}: not found in {header}')
    include = 'gshmem.h' if name.startswith('gshmem_') else 'gshmem_device.cuh'
    out = [f'.TH {name} 3 "" "gshmem {version}" "gshmem"\n.SH NAME\n{", ".join([name, *others])} \\- {roff(what)}\n',
           f'.SH SYNOPSIS\n.nf\n\\fB#include <{include}>\\fP\n\n', roff(PROTOTYPES.get(name) or found[2]),
           '\n.fi\n.SH DESCRIPTION\n', *map(paragraph, clean(found[1]))]
    calls = [f'.BR {call} (3),\n' for call, things in SEE.items() if name in things]
    return ''.join(out) + '.SH SEE ALSO\n' + ''.join(calls) + '.BR gshmem (7)\n'


def tool(root, name, version):
    """From the text beside this script: a line in capitals is a section's title, @OPTIONS@ is what --help prints."""
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
    pages = ', '.join([f'{name}(3)' for name, _, _ in FAMILIES] + [f'{name}(3)' for name in THINGS] +
                      [f'{name}(1)' for name in TOOLS])
    out.append('.SH PAGES\n' + paragraph(pages))
    return ''.join(out)


def main():
    root, version, output = sys.argv[1:4]
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
            if 'TYPE' in names.form(public):  # the generic call
                files.setdefault(re.sub('TYPE_', '', names.form(public)), f'.so man3/{name}.3\n')
    for name, what, _ in FAMILIES:
        files[name] = page(name, what, members[name], rows, names, version)
    for name, (_, _, _, others) in THINGS.items():
        files[name] = thing(root, name, version)
        files.update({other: f'.so man3/{name}.3\n' for other in others})
    for name, text in files.items():
        with open(os.path.join(output, 'man3', name + '.3'), 'w', encoding='utf-8') as file:
            file.write(text)
    for name in TOOLS:
        with open(os.path.join(output, 'man1', name + '.1'), 'w', encoding='utf-8') as file:
            file.write(tool(root, name, version))
    with open(os.path.join(output, 'man7', 'gshmem.7'), 'w', encoding='utf-8') as file:
        file.write(overview(root, version))


main()
