#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Doxygen's input filter: what one public header says, in the comments and declarations that Doxygen understands. The
contracts are read by docs/man/generate.py, so the pages for a browser say what the man pages say, family by family.

    filter.py ROOT CXX ARGS... HEADER          Doxygen adds the header; CXX preprocesses gshmem_device.cuh

gshmem.h brings the main page and the families' rules. Each declaration follows with its contract, in its family. NCCL's
header is shown as it is, section by section."""
import os, re, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../man'))
sys.dont_write_bytecode = True
import generate  # docs/man/generate.py

root, compiler, header = sys.argv[1], sys.argv[2:-1], sys.argv[-1]
header = os.path.relpath(os.path.abspath(header), os.path.abspath(root))
names = generate.Names(root)


def escape(text):
    return re.sub(r'([\\@&$#<>%"*])', lambda m: {'*': '&lowast;'}.get(m[0], '\\' + m[0]), text)


def link(text, known):
    """Words in backticks are code; names of calls lead to them."""
    text = re.sub(r'(\w)\(3\)', r'\1', text.replace('gshmem(7)', 'the main page'))
    out = re.sub(r'`([^`]*)`', r'<code>\1</code>', escape(text))
    return re.sub(r'\bgshmemx?_\w+\b(?!\()', lambda m: '#' + m[0] if m[0] in known else m[0], out)


def paragraph(text, known):
    """A list or a table keeps its lines."""
    if re.search(r'^ {2,}\S|^ \S.*\S {2,}\S', text, re.M):
        return '@verbatim\n' + text.replace('`', '').replace('*/', '* /') + '\n@endverbatim'
    return link(' '.join(text.split()), known)


def comment(lines):
    print('/**\n' + '\n'.join(line.replace('*/', '* /') for line in lines) + '\n*/')


def group_of(page):
    return re.sub(r'\W', '_', page) + '_page'


def shown(name):
    return name.replace('_NAME_', '_TYPE_')


def prototype_of(text):
    return re.sub(r'\bT\b', 'TYPE', text.replace('_NAME_', '_TYPE_'))


def all_rows():
    return {page: [row for row in rows if re.fullmatch(pattern, names.stem(shown(row[0])))]
            for rows in [generate.parse(root)] for page, _, pattern in generate.FAMILIES}


def family(page, what, rows, members, known):
    """The rules of a family, and which forms its calls have."""
    stems = {names.stem(names.form(member)) for member in members}
    forms = sorted({names.form(member) for member in members})
    lines = [f'@defgroup {group_of(page)} {escape(page)}: {escape(what)}', '']
    for text in dict.fromkeys(text for row in rows for text in row[2]):
        kept = generate.rows_of(text, stems)
        lines += [paragraph(kept, known), ''] if kept.strip() else []
    if any('TYPE' in form for form in forms):
        types = sorted({re.sub(r'^gshmemx?_(ctx_)?', '', m).split('_')[0] for m in members
                        if names.form(m) != m and 'TYPE' in names.form(m)}, key=names.types.index)
        lines += ['TYPE is one of ' + ', '.join(types) + '. Without _TYPE in the name the generic call chooses by its '
                  'arguments.', '']
    if any('BITS' in form for form in forms):
        lines += ['BITS, the size of an element, is one of 8, 16, 32, 64 and 128.', '']
    for text in generate.sides(members, names):
        lines += ['Called by: ' + escape(text), '']
    prototypes = {re.search(r'(gshmemx?_\w+)\(', shown(row[1]))[1]: shown(row[1]) for row in rows
                  if not re.search(r'_on_stream\(', row[1])}
    derived = dict.fromkeys(filter(None, (generate.form_prototype(form, prototypes) for form in forms
                                          if form not in prototypes)))
    for suffix, note in generate.SUFFIX.items():
        if any(re.search(rf'^gshmemx?_ctx_' if suffix == 'ctx' else rf'_{suffix}(_|$)', form) for form in forms):
            lines += [paragraph(note, known), '']
    if derived:
        lines += ['@verbatim', *map(prototype_of, derived), '@endverbatim']
    comment(lines)


def declaration(row, page, known):
    comment([f'@ingroup {group_of(page)}', *(line for text in row[3] for line in (paragraph(text, known), ''))])
    print(prototype_of(row[1]))


def main_page(known):
    with open(os.path.join(root, 'include/gshmem.h'), encoding='utf-8') as file:
        head = generate.clean(re.search(r'/\*.*?\*/', file.read(), re.S)[0])
    comment(['@mainpage gshmem', '', 'Symmetric memory for GPU clusters.', '',
             *(line for text in head for line in (paragraph(text, known), ''))])


def types():
    rows = [row for row in generate.items(root) if 'include/' + row[3] in (header, header.replace('.in', ''))]
    for page, what, pattern in generate.TYPES:
        mine = [row for row in rows if re.fullmatch(pattern, row[0])]
        if not mine:
            continue
        texts = [text for contract in dict.fromkeys(row[2] for row in mine if row[2])
                 for text in generate.clean(contract.replace('/* clang-format off */', ''))]
        comment([f'@defgroup {group_of(page)} {escape(page)}: {escape(what)}', '',
                 *(line for text in texts for line in (paragraph(text, {}), '')), '@{'])
        for whole in dict.fromkeys(row[1] for row in mine):
            if whole.startswith('#define'):  # its value may be a table
                print(whole if whole.count('\n') < 4 else whole.split('\n')[0].rstrip('\\ '))
            else:
                print(re.sub(r'(?<=[,;{])([ \t]*)/\*(.*?)\*/',
                             lambda m: f'{m[1]}/**<{link(m[2], {})}*/', whole, flags=re.S))
        print('/** @} */')


def things():
    for page, (what, path, pattern, others) in generate.THINGS.items():
        with open(os.path.join(root, path if path.startswith('device') else 'include/' + path),
                  encoding='utf-8') as file:
            texts = generate.clean(re.search(pattern, file.read(), re.S)[1])
        comment([f'@defgroup {group_of(page)} {escape(", ".join([page, *others]))}: {escape(what)}', '', '@verbatim',
                 generate.PROTOTYPES[page], '@endverbatim', '',
                 *(line for text in texts for line in (paragraph(text, {}), ''))])


def templates():
    """The C++ calls of kernels."""
    page = generate.TEMPLATES
    with open(os.path.join(root, 'device/coll/coll.cuh'), encoding='utf-8') as file:
        rules = generate.clean(re.search(r'/\*.*?\*/', file.read(), re.S)[0])
    comment([f'@defgroup {group_of(page)} {escape(page)}: calls of kernels as C++ templates', '',
             'Each does what the call gshmem_..., gshmem_TYPE_... or gshmemx_... of the same name does, for any type '
             'of the type table. The group g says which threads make the call together.', '', '@verbatim',
             *(f'{name:<20}{text}' for name, text in generate.GROUPS.items()), '@endverbatim', '',
             *(line for text in rules for line in (paragraph(text, {}), ''))])
    print('/** Calls of kernels. */\nnamespace gshmem\n{')
    for name, (_, prototype, _) in generate.templates(root, compiler).items():
        what = generate.GROUPS.get(name) or generate.CONTEXTS.get(name)
        if name in generate.OPERATIONS:
            what = 'What a reduce computes.'
        elif prototype and not what:
            what = f'As gshmem_{name} and its forms by type and group.'
        if what:
            comment([f'@ingroup {group_of(page)}', link(what, {})])
            print(prototype or f'struct {name}\n{{\n}};')
    print('}')


def dialect(own):
    """A header that declares each name in full: a contract counts for the declarations below it, up to a blank line."""
    with open(os.path.join(root, header), encoding='utf-8') as file:
        pieces = re.split(r'(/\*.*?\*/)', file.read(), flags=re.S)
    comment([f'@file {own}', *(line for text in generate.clean(pieces[1]) for line in (paragraph(text, {}), ''))])
    contract, section, before = [], 0, '\n'
    for piece in pieces[2:]:
        title = re.match(r'/\* -{4} (.*?) -{4}', piece)
        if title:
            print('/** @} */' if section else '')
            section += 1
            print(f'/** @defgroup nccl_{section}_page NCCL: {escape(title[1])}\n@{{ */')
            contract = []
        elif piece.startswith('/*') and before.split('\n')[-1].strip():
            print('/**< ' + ' '.join(link(text, {}) for text in generate.clean(piece)) + ' */', end='')
        elif piece.startswith('/*'):
            contract = generate.clean(piece)
        else:
            for number, line in enumerate(piece.split('\n')[:-1]):
                if contract and re.match(r'(ncclResult_t|const char \*|typedef|struct|#define) ?\w', line):
                    comment([line for text in contract for line in (paragraph(text, {}), '')])
                contract = contract if line.strip() or number == 0 else []
                print(line)
            print(piece.split('\n')[-1], end='')
            before = piece
    print('/** @} */' if section else '')


def main():
    if 'dialects' in header:
        dialect(os.path.basename(header))
        return
    rows = all_rows()
    known = {shown(row[0]) for mine in rows.values() for row in mine}
    own = re.sub(r'^include/', '', header)
    comment([f'@file {own}', 'Calls of the host and of kernels.'])
    if own == 'gshmem.h':
        main_page(known)
        members = {page: [] for page, _, _ in generate.FAMILIES}
        for public in names.all:
            stem = names.stem(names.form(public))
            members[next(page for page, _, pattern in generate.FAMILIES if re.fullmatch(pattern, stem))].append(public)
        for page, what, _ in generate.FAMILIES:
            family(page, what, rows[page], members[page], known)
        things()
    if own == 'gshmem_device.cuh':
        templates()
    if own in generate.TYPE_HEADERS:
        types()
    if own in generate.HEADERS:
        generate.HEADERS[:] = [own]
        for page, mine in all_rows().items():
            for prototype in dict.fromkeys(row[1] for row in mine):
                declaration(next(row for row in mine if row[1] == prototype), page, known)


main()
