#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Code and documents use the words of docs/glossary.md: none of those that it replaces comes back, neither as a part of
an identifier nor, where it is no everyday English, by itself.

    words.py ROOT"""
import fnmatch, os, re, sys

root = sys.argv[1]
# By itself or as a part of an identifier.
WORDS = {
    'crew': 'clique', 'desk': 'segment', 'flagged': 'LL', 'flaw': 'config error', 'keeper': 'local copier',
    'knock': 'connect', 'lanes': 'channels, copy streams, paths or replicas', 'lendable': 'registrable',
    'manner': 'copy tuning', 'visitor': 'client', 'wish': 'request', 'lane': 'channel, copy stream, path or replica',
}
# As a part of an identifier, or as one by itself: in sentences they are everyday English.
PARTS = {
    'alike': 'check, same', 'apart': 'noinline', 'card': 'attr', 'cards': 'attrs', 'door': 'listener (uds)',
    'gate': 'listener (tcp_listener)', 'hear': 'receive, await, subscribe', 'laid': 'retired', 'lend': 'register',
    'lent': 'registered, registration', 'mail': 'runtime message, mailbox entry', 'meet': 'barrier, sync',
    'meeting': 'barrier', 'news': 'notice', 'place': 'rank in group, position, site, entry, record or affinity',
    'places': 'ranks, positions, entries or records', 'rail': 'stripe', 'rails': 'stripes', 'trail': 'stream chain',
    'turn': 'poll, ticket, scope, back-off or generation', 'turns': 'polls', 'visit': 'connection',
}
# Whole identifiers.
NAMES = {
    'GSHMEM_APART': 'GSHMEM_NOINLINE_BODY', 'GSHMEM_OUT_OF_LINE': 'GSHMEM_NOINLINE',
    'GSHMEM_LONG_WAY': 'GSHMEM_NOINLINE_IN_USER_KERNELS', 'GSHMEM_IN_FLIGHT': 'GSHMEM_INLINE_ON_GPU',
    'out_of_line': 'call_indirect', 'put_away': 'spilled_during', 'keep_nothing': 'spill_nothing',
    'long_way': 'run_direct_or_far', 'gsh_watch': 'gsh_monitor', 'gpu_turn': 'gpu_serving', 'lay_by': 'retire',
}
# Where a word has another sense: files, then what it matches there.
ALLOWED = (
    # a warp's threads
    ('device/cpu/* cpu/* device/group.cuh device/push.cuh device/bulk.cuh tests/unit/cpu_* nccl_device/coop.h '
     'tests/nccl/* examples/jacobi/*', r'[Ll]anes?'),
    ('docs/porting.md docs/glossary.md docs/versions.md tests/api/flat.py CHANGELOG.md', r'lanes?|railGinBarrier'),
    # UCX's lanes, PCIe's
    ('proxy/ucx/* proxy/transports/ucx/* tests/unit/ucx_order.c tests/fuzz/ucx_messages.c dialects/nccl/*/simulate.c',
     r'lanes?'),
    # NCCL's rails, its and other libraries' own names
    ('dialects/nccl/* tests/nccl/* examples/nccl/*', r'[Rr]ails?|Meet'),
    ('dialects/shmem/*', r'(un)?lock'),
    # "in place" is MPI's and NCCL's word
    ('*', r'(is_|may_be_)?in_place'),
    ('include/* device/bulk.cuh docs/* tests/* perftest/*', r'lend_shared|lent\w*|lender'),
    ('proxy/engine/*', r'apart'),
    ('include/gshmemx.h bindings/*', r'place'),
    ('*.md include/* packaging/* perftest/* tests/*', r'manner'),
    ('examples/* perftest/* tests/*', r'place\w*|turns?\w*|meet\w*|mail|watch\w*|gate|rails?|wish|visits?|apart|\w+'),
    ('dialects/nccl/include/* dialects/nvshmem/* dialects/mscclpp/include/*', r'\w+'),
    ('*', r'n_apart|bytes_apart|apart_bytes|is_apart|wide_is_apart|work_is_apart|apart_room|gsh_proxy_apart|far_apart'),
)
SKIPPED = ('build', '.git', '.venv', 'reference')
# In C's files: comments and strings, in which a word by itself is none of an identifier's.
SENTENCES = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|^#error[^\n]*', re.S | re.M)
CODE_KINDS = ('.c', '.h', '.cuh', '.cu', '.cc', '.hpp')
KINDS = ('.c', '.h', '.cuh', '.cu', '.cc', '.hpp', '.in', '.def', '.md', '.py', '.build', '.txt', '.sh', '.map')


def is_allowed(path, name):
    return any(any(fnmatch.fnmatchcase(path, g) or fnmatch.fnmatchcase(path, '*/' + g) for g in globs.split()) and
               re.fullmatch(names, name) for globs, names in ALLOWED)


def judge(path, name, is_code):
    """What to say instead of the identifier or word; None: nothing is wrong with it. is_code: no word of a sentence."""
    if name in NAMES:
        return NAMES[name]
    parts = [p.lower() for p in re.split(r'_+|\d+|(?<=[a-z])(?=[A-Z])', name) if p]
    for part in parts:
        if part in WORDS or part in PARTS and (len(parts) > 1 or name.isupper() or is_code):
            return None if is_allowed(path, name) or is_allowed(path, part) else WORDS.get(part) or PARTS[part]
    return None


wrong = n_files = 0
for folder, folders, names in os.walk(root):
    folders[:] = [f for f in folders if not f.startswith(SKIPPED) and
                  os.path.relpath(os.path.join(folder, f), root) not in ('perftest/results', 'docs/performance')]
    for file_name in names:
        path = os.path.relpath(os.path.join(folder, file_name), root)
        if not file_name.endswith(KINDS) or path == 'tests/docs/words.py' or file_name == 'LICENSE':
            continue
        n_files += 1
        with open(os.path.join(root, path), encoding='utf-8', errors='replace') as file:
            text = file.read()
            code = SENTENCES.sub(lambda m: '\n' * m[0].count('\n'), text) if path.endswith(CODE_KINDS) else ''
            code = [set(re.findall(r'[A-Za-z_]\w*', line)) for line in code.split('\n')]
            for number, line in enumerate(text.split('\n'), 1):
                for name in set(re.findall(r'[A-Za-z_]\w*', line)):
                    instead = judge(path, name, number <= len(code) and name in code[number - 1])
                    if instead:
                        wrong += 1
                        print(f'{path}:{number}: {name}: the word is {instead}')
if n_files == 0:
    print(f'{root} has no sources')
sys.exit(1 if wrong or n_files == 0 else 0)
