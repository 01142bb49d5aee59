#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every public name has a man page, which names it, shows how it is called and describes it; each tool has one; no
page refers to anything that only a reader of the headers sees; groff reports nothing.

    man.py ROOT MAN_DIR CC ARGS... -- CXX ARGS...

The public names are those of tests/api/names.txt and those that the headers declare, as CC sees gshmemx.h and CXX
gshmem_device.cuh: functions, types, constants, macros, and the C++ calls of namespace gshmem. A function that only one
of the two knows is an error, and so is a page for a name in neither."""
import os, re, shutil, subprocess, sys

root, pages = sys.argv[1:3]
END = sys.argv.index('--')
CC, CXX = sys.argv[3:END], sys.argv[END + 1:]
# Names in public headers that are not part of the interface.
HIDDEN = re.compile(r'gshmemx?_cpu_\w+|gshmem_dynamic_shared|GSH_\w+|GSHMEMX?_(\w+_)?C?U?H|'
                    r'GSHMEM_(IF|SEL|GENERIC|HD|HAS|HALF|ARM|OVERLOAD|CPU|C|DEVICE_CODE|HOST_ONLY)(_\w+)?')
failed = 0


def complain(text):
    global failed
    failed += 1
    print(text)


def matches(form, name):
    pattern = re.escape(form).replace('TYPE', '[a-z0-9]+').replace('BITS', '[0-9]+')
    return re.fullmatch(pattern, name)


texts = {}
with open(os.path.join(root, 'tests/api/names.txt'), encoding='utf-8') as lines:
    listed = [line.split()[:2] for line in lines if line.strip() and not line.startswith('#')]
names = [name for name, where in listed if where not in ('cpu', 'layer') and 'detail' not in where]
for name in names:
    path = os.path.join(pages, 'man3', name + '.3')
    if not os.path.exists(path):
        complain(f'{name} has no man page')
        continue
    with open(path, encoding='utf-8') as file:
        text = file.read()
    if text.startswith('.so '):
        path = os.path.join(pages, text.split()[1])
        if path not in texts:
            with open(path, encoding='utf-8') as file:
                texts[path] = file.read()
    else:
        texts[path] = text
    forms = texts[path].partition('.SH NAMES')[2].replace('\\', '').split()
    forms += re.findall(r'(gshmemx?_\w+)\(', texts[path])
    if not any(matches(form, name) for form in forms):
        complain(f'{path} does not name {name}')
for path, text in texts.items():
    # Forms for a stream, a group or a context are described in words.
    shown = set(re.findall(r'(gshmemx?_\w+)\(', text.split('.SH SYNOPSIS')[1].split('.SH')[0]))
    for form in text.partition('.SH NAMES')[2].split('.SH')[0].replace('\\', '').split('\n')[2:]:
        plain = re.sub(r'OP|and|or|xor|min|max|sum|prod', 'OP', form) if 'reduce' in form else form
        if form.startswith('gshmem') and not re.search(r'_(warp|block|grid|lane|on_stream)$|^gshmemx?_ctx_', form) and \
                not {form, plain} & shown:
            complain(f'{path}: no prototype of {form}')


def read(path):
    with open(os.path.join(root, path), encoding='utf-8') as file:
        return file.read()


def preprocessed(command, *arguments):
    return subprocess.run([*command, '-E', '-P', *arguments, '/dev/null'], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


# The names in headers: functions as compilers see them, the rest as written.
declared = set()
for text in (preprocessed(CC, '-x', 'c', '-std=c17', '-include', 'gshmemx.h'),
             preprocessed(CXX, '-x', 'c++', '-std=c++17', '-include', 'gshmem_device.cuh', '-include', 'gshmemx.h')):
    declared |= set(re.findall(r'\b(gshmemx?_\w+)(?=\s*\()', text))
declared = {name for name in declared if not HIDDEN.fullmatch(name)}
types = '|'.join(re.findall(r'^ *R\(M(?:, \d){7}, (\w+),', read('include/gshmem/types.h'), re.M))
generic = {re.sub(rf'^gshmem_({types})_', 'gshmem_', name) for name in names if re.match(rf'gshmem_({types})_', name)}
for name in sorted(declared - {name for name, _ in listed} - generic):
    complain(f'{name} is declared, but tests/api/names.txt does not list it')
for name in sorted(set(names) - declared):
    complain(f'{name} is listed in tests/api/names.txt, but no header declares it')
written = set()
for folder in ('include', 'include/gshmem'):
    for name in os.listdir(os.path.join(root, folder)):
        if name.endswith(('.h', '.cuh', '.h.in')):
            text = re.sub(r'/\*.*?\*/', '', read(os.path.join(folder, name)), flags=re.S)
            gone = set(re.findall(r'#undef (\w+)', text))
            # the generic calls' own macros are not part of the interface
            macro = r'gshmemx?_\w+'
            if not name.startswith(('generic', 'overloads', 'half', 'float8')):
                macro += r'|GSHMEMX?_\w+'
            written |= set(re.findall(rf'^ *#define ({macro})', text, re.M)) - gone
            written |= set(re.findall(r'\btypedef\b[^;{]*(?:\{[^}]*\})?[^;{]*?\b(gshmemx?_\w+)(?:\)\([^;]*\))?;', text))
            written |= {constant for body in re.findall(r'\benum \{([^}]*)\}', text)
                        for constant in re.findall(r'\b(GSHMEMX?_\w+)', body)}
written = {name for name in written if not HIDDEN.fullmatch(name)} | {'GSHMEM_ARENA_BYTES', 'GSHMEM_BATCH_PUTS',
                                                                     'GSHMEM_CALL_SITES', 'GSHMEM_CHECKS',
                                                                     'GSHMEM_LENDING',
                                                                     'GSHMEM_NEAR_ONLY', 'GSHMEM_SHARED_DEVICE',
                                                                     'GSHMEM_TRACE_KERNELS',
                                                                     'GSHMEM_WIDE_COPIES'}
classes = {'gshmem::' + name for path in ('device/default.cuh', 'device/group.cuh')
           for name in re.findall(r'^(?:GSHMEM_(?:COPY|STRIDED|BLOCKS|SIGNALLED)\(|struct |__device__ __forceinline__ '
                                  r'(?:\w+ )*[\w*]+[ *])(\w+)(?=\(|\)| \{)',
                                  re.sub(r'^namespace detail$.*?^} // namespace detail$', '',
                                         read(path).replace('struct place', ''), flags=re.M | re.S), re.M)}
if len(declared) < 5000 or len(written) < 60 or len(classes) < 30:
    complain(f'only {len(declared)} functions, {len(written)} other names and {len(classes)} C++ names found')
known, paged = set(names) | written | classes | generic, set()
for name in os.listdir(os.path.join(pages, 'man3')):
    with open(os.path.join(pages, 'man3', name), encoding='utf-8') as file:
        paged.add(name[:-2])
        if (text := file.read()).startswith('.so ') and not os.path.exists(os.path.join(pages, text.split()[1])):
            complain(f'{name} is a link to {text.split()[1]}, which is not there')
for name in sorted(known & declared | written | classes):
    if name not in paged:
        complain(f'{name} has no man page')
device = ''.join(read(os.path.join('device', folder, name)) for folder in ('', 'coll')
                 for name in os.listdir(os.path.join(root, 'device', folder)) if name.endswith('.cuh'))
# pages of families whose name is not one of their members
families = {'gshmem_atomic', 'gshmem_reduce', 'gshmem_scan', 'gshmem_device.cuh'}
for name in sorted(paged - known - families):
    stem = re.sub(r'^gshmem::(op_|atomic_)?', '', name)
    if not (name.startswith('gshmem::') and re.search(rf'\b(op_|atomic_)?{stem}\b', device)):
        complain(f'there is a man page for {name}, which no header has')
# Which words describe a call: a comment counts for the call that it is next to.
for page, name, words in (('gshmem_alltoall', 'gshmem_alltoallmem', 'Block j of member'),
                          ('gshmem_collect', 'gshmem_collectmem', "Concatenates all members' sources"),
                          ('gshmem_malloc', 'gshmem_calloc', 'As malloc, for count elements'),
                          ('gshmem_init', 'gshmem_query_thread', '*provided is'),
                          ('gshmem_fence', 'gshmem_fence', 'fence orders the puts'),
                          ('gshmem_reduce', 'gshmem_TYPE_OP_reducescatter', 'gshmem_TYPE_OP_reduce: dest[i]')):
    told = ' '.join(texts[os.path.join(pages, 'man3', page + '.3')].replace('\\fP, \\fB', ' ').split())
    if not re.search(rf'\\fB[^\\]*{name}[^\\]*\\fP .RS 4 .PP[^\\]*{re.escape(words)}', told):
        complain(f'{page}: "{words}" is not told of {name}')
# Which words describe another page's calls.
for page, words in (('gshmem_put', 'getmem|a get|put_signal changes'), ('gshmem_get', 'a put|signal'),
                    ('gshmem_put_signal', r'a get\b|g_on_stream'), ('gshmemx_signal_op', r'copy\b')):
    told = texts[os.path.join(pages, 'man3', page + '.3')].split('.SH DESCRIPTION')[1].split('.SH')[0]
    if found := re.search(words, told):
        complain(f'{page}: "{found[0]}" belongs on another page')
things = ['man1/gshmemrun.1', 'man1/gshmem-info.1', 'man7/gshmem.7'] + \
    [f'man3/{name}.3' for name in ('gshmem::lend_shared', 'gshmem::put', 'gshmem_device.cuh', *sorted(written))]
everything = dict(texts)
for name in things:
    if not os.path.exists(os.path.join(pages, name)):
        continue  # said above
    with open(os.path.join(pages, name), encoding='utf-8') as file:
        if not (text := file.read()).startswith('.so '):
            everything[os.path.join(pages, name)] = text
for path, text in everything.items():
    for lost in re.findall(r'\[hd\]|\b(?:table|calls?|comment) (?:above|below)|\bnext (?:two|three)\b', text):
        complain(f'{path}: "{lost}" means nothing on a page')
for path, text in texts.items():
    told = text.split('.SH DESCRIPTION')[1].split('.SH')[0]
    if len(told.split()) < 8:
        complain(f'{path}: its contract is "{told.strip()}"')
    if not re.search(r'\(.*\);', text.split('.SH SYNOPSIS')[1].split('.SH')[0]):
        complain(f'{path}: no prototype')
if shutil.which('groff'):
    for path in everything:
        run = subprocess.run(['groff', '-man', '-ww', '-z', '-rLL=130n', path], stderr=subprocess.PIPE, text=True)
        if run.returncode or run.stderr:
            complain(f'{path}: groff ends with {run.returncode}: {run.stderr}')
print(f'{len(names)} calls, {len(written)} types, constants and macros, {len(classes)} C++ names, '
      f'{len(everything)} pages')
sys.exit(1 if failed or not names else 0)
