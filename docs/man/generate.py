#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the man pages from the contracts in the public headers: one page for each family of calls, a link to it for
each name, and gshmem(7), which is the head of gshmem.h.

    generate.py ROOT VERSION OUTPUT_DIR

A contract is the comment in front of declarations; a section's rules stand in the comment with its title. Which
declarations share a page, in this order, FAMILIES says. A public name without a page, or a page without a contract, is
an error."""
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
     'team_split_.*|team_get_config|team_destroy|team_create'),
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
        self.all = []
        with open(os.path.join(root, 'tests/api/names.txt'), encoding='utf-8') as lines:
            for line in lines:
                words = line.split()
                if words and not line.startswith('#') and words[1] not in ('cpu', 'layer'):
                    self.all.append(words[0])

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
    """A comment's paragraphs; [hd] marks and rulers go."""
    text = re.sub(r'^\s*\* ?', '', comment.strip()[2:-2].strip('\n'), flags=re.M)
    text = re.sub(r'^\s*-{3,} *(.*?) *-{3,}\s*$', r'', text, count=1, flags=re.M)
    text = re.sub(r'^\s*-{4} .*$', '', text, count=1, flags=re.M)
    text = text.replace(' [hd]', '').replace('(the table above)', '(gshmem(7))').replace(': the table above', ': gshmem(7)')
    return [p.strip('\n') for p in re.split(r'\n\s*\n', text) if p.strip()]


def declarations(code):
    code = re.sub(r'\\\n', ' ', code)
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
        head = clean(pieces[1])[0:] if header.startswith('gshmem/') else []
        section, contract, is_first = [], [], True
        for piece in pieces[2:]:
            if piece.startswith('/*'):
                paragraphs = clean(piece)
                if re.match(r'/\* -{4}', piece):
                    section, contract = paragraphs, []
                elif not re.search(r'\n?\s*$', piece) or paragraphs:
                    contract = paragraphs
            else:
                # A comment behind a declaration in the same line is about that one.
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
    notes = [SUFFIX['ctx']] if any(f.startswith(('gshmem_ctx_', 'gshmemx_ctx_')) for f in forms) and \
        name not in ('gshmem_ctx_create', 'gshmem_team_my_pe') else []
    notes += [note for suffix, note in SUFFIX.items()
              if suffix != 'ctx' and any(re.search(rf'_{suffix}(_|$)', form) for form in forms)]
    if notes:
        out.append('.SH FORMS\n' + ''.join(paragraph(note) for note in notes))
    out.append('.SH NAMES\n.nf\n' + ''.join(roff(form) + '\n' for form in forms) + '.fi\n')
    out.append('.SH SEE ALSO\n.BR gshmem (7)\n')
    return ''.join(out)


def overview(root, version):
    """gshmem(7): the head of gshmem.h, whose table keeps its columns."""
    text = open(os.path.join(root, 'include/gshmem.h'), encoding='utf-8').read()
    out = [f'.TH gshmem 7 "" "gshmem {version}" "gshmem"\n.SH NAME\ngshmem \\- symmetric memory for GPU clusters\n']
    for part in clean(re.search(r'/\*.*?\*/', text, re.S)[0])[1:]:
        title = re.match(r'(Words|Errors|Memory model)[. ]', part)
        if title:
            out.append(f'.SH {title[1].upper()}\n')
            part = part[title.end():].lstrip() if title[0].endswith('.') else part
        out.append(f'.nf\n{roff(part)}\n.fi\n' if '  ' in part.strip() else paragraph(part))
    pages = ', '.join(f'{name}(3)' for name, _, _ in FAMILIES)
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
    for section in ('man3', 'man7'):
        os.makedirs(os.path.join(output, section))
    files = {}
    for name, what, _ in FAMILIES:
        for public in members[name]:
            files[public] = f'.so man3/{name}.3\n'
            if 'TYPE' in names.form(public):  # the generic call
                files.setdefault(re.sub('TYPE_', '', names.form(public)), f'.so man3/{name}.3\n')
    for name, what, _ in FAMILIES:
        files[name] = page(name, what, members[name], rows, names, version)
    for name, text in files.items():
        with open(os.path.join(output, 'man3', name + '.3'), 'w', encoding='utf-8') as file:
            file.write(text)
    with open(os.path.join(output, 'man7', 'gshmem.7'), 'w', encoding='utf-8') as file:
        file.write(overview(root, version))


main()
