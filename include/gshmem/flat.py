#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a header with one line for each declaration from its template, so that editors, clangd and grep find every
name, and compilers have no macros to expand.

    flat.py TEMPLATE TYPES_H OUTPUT

A template is a header in which a macro that is defined and undefined again stands for a group of declarations: it is
used once for each row of a set of the type table in TYPES_H (GSHMEM_TYPES_RMA(M)), for each size (GSHMEM_SIZES(M)), or
by a line of its own. #include of another template takes that in. All else, contracts above all, is copied. Rows that
GPUs' compilers lack are guarded as the table is."""
import os
import re
import sys

NO_LONG_DOUBLE = '#if !defined(__CUDACC__) || defined(GSHMEM_HOST_ONLY)'
COLUMNS = ['DISTINCT', 'STD', 'EXT', 'BIT', 'WAIT', 'LOGIC', 'ARITH']


def type_sets(types):
    """name of a set -> [(NAME, C type)]; that of GSHMEM_SIZES is [(bits, bytes)]."""
    rows = [[word.strip() for word in row.split(',')][1:] for row in re.findall(r'^\s+R\((M, [^)]*)\)', types, re.M)]
    sets = {'GSHMEM_SIZES': re.findall(r'M\((\d+), (\d+)\)', re.search(r'#define GSHMEM_SIZES.*', types)[0])}
    chosen = r'#define (GSHMEM_TYPES_\w+)\(M\)\s+GSHMEM_TYPE_TABLE(?:_GPU)?\(GSHMEM_SEL_(\w+)'
    for name, column in re.findall(chosen, types):
        sets[name] = [(row[-2], row[-1]) for row in rows
                      if (column == 'RMA' or row[COLUMNS.index(column)] == '1') and
                      ('_GPU' not in name or row[-2] != 'longdouble')]
    return sets


class Template:
    def __init__(self, folder, sets):
        self.folder, self.sets, self.stamps = folder, sets, {}

    def expand(self, code):
        """Stamps out every use of a macro, also in what another one has become."""
        found = re.search(r'\b(' + '|'.join(map(re.escape, self.stamps)) + r')\b', code) if self.stamps else None
        if not found:
            return code
        parameters, body = self.stamps[found[1]]
        end, arguments = found.end(), []
        if parameters is not None:
            depth, part = 1, ''
            assert code[end] == '(', code
            while depth:
                end += 1
                depth += (code[end] == '(') - (code[end] == ')')
                if depth == 0 or (depth == 1 and code[end] == ','):
                    arguments.append(part.strip())
                    part = ''
                else:
                    part += code[end]
            end += 1
            for parameter, argument in zip(parameters, arguments):
                body = re.sub(rf'\b{parameter}\b', lambda _: argument, body)
        body = re.sub(r'\s*##\s*', '', body)
        return code[:found.start()] + self.expand(body + code[end:])

    def declarations(self, code):
        """One line each, in clang-format's manner."""
        code = self.expand(code)
        if '{' in code:
            yield ' '.join(code.split())
            return
        for statement in code.split(';'):
            words = ' '.join(statement.split())
            if words:
                yield re.sub(r'\* (?=\w)', '*', words.replace('( ', '(')) + ';'

    def lines(self, text):
        text = re.sub(r'\\\n', ' ', text)
        local = set(re.findall(r'^#undef (\w+)', text, re.M))
        is_comment = False
        for line in text.split('\n'):
            define = re.match(r'#define (\w+)(?:\(([^)]*)\))?(?: +(.*))?$', line)
            undefine = re.match(r'#undef (\w+)', line)
            include = re.match(r'#include "gshmem/(\w+\.h)"', line)
            use = re.match(r'(GSHMEM_TYPES_\w+|GSHMEM_SIZES)\((\w+)\)$', line)
            call = re.match(r'(\w+)\(', line)
            was_comment = is_comment
            is_comment = '*/' not in line if line.startswith('/*') else is_comment and '*/' not in line
            if was_comment or line.startswith('/*'):
                yield line
            elif define and define[1] in local:
                self.stamps[define[1]] = ([p.strip() for p in define[2].split(',')] if define[2] is not None else None,
                                          define[3] or '')
            elif undefine:
                del self.stamps[undefine[1]]
            elif include and os.path.exists(os.path.join(self.folder, include[1] + '.in')) and \
                    re.search(r'#define GSHMEM_CALL\b', text):
                yield from self.included(include[1])
            elif use:
                for name, of in self.sets[use[1]]:
                    yield from [NO_LONG_DOUBLE] if name == 'longdouble' else []
                    yield from self.declarations(f'{use[2]}({name}, {of})')
                    yield from ['#endif'] if name == 'longdouble' else []
            elif call and call[1] in self.stamps:
                yield from self.declarations(line)
            else:
                yield line

    def included(self, name):
        with open(os.path.join(self.folder, name + '.in'), encoding='utf-8') as file:
            text = file.read()
        yield from self.lines(text[text.index('*/') + 2:].strip('\n'))


def main():
    template, types, output = sys.argv[1:]
    with open(types, encoding='utf-8') as file:
        sets = type_sets(file.read())
    with open(template, encoding='utf-8') as file:
        made = '\n'.join(Template(os.path.dirname(template), sets).lines(file.read()))
    made = re.sub(r'\n{3,}', '\n\n', made)
    if os.path.exists(output):
        with open(output, encoding='utf-8') as file:
            if file.read() == made:
                return  # compiled files need not be compiled again
    with open(output, 'w', encoding='utf-8') as file:
        file.write(made)


main()
