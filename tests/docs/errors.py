#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every message that the sources can print, each separately worded part of one, and every message that makes a
program's compilation fail, is listed in docs/errors.md under an explanation, and that document holds no obsolete
message. Each of its sections says what happened and what to do. Text that varies (a number, a name, a reason) is
written as three dots.

    errors.py ROOT [--list]      --list prints the messages that the sources have"""
import os, re, sys

FOLDERS = ['base', 'bootstrap', 'heap', 'nic', 'proxy', 'runtime', 'trace', 'cpu', 'device', 'tools', 'dialects',
           'include']
# Functions whose first text says what went wrong. Info and trace lines report progress, and are left out.
CALLS = ('gsh_fail|gsh_fail_errno|gsh_note|note_errno|note|gsh_abort|gsh_agree_fail|gsh_engine_fail|gsh_task_fail|'
         'gsh_cuda_note|gsh_rendezvous_fail|fail|refused|say|gsh_log|fprintf|dprintf|report_text|die|gsh_block_fatal|'
         'gsh_device_fatal|gshmemrun_say|gsh_ucx_break_for|gsh_end_job|usage_error|gsh_nccl_fail|refuse')
NOT_MESSAGES = ('GSH_LOG_INFO', 'GSH_LOG_TRACE', 'stdout', 'usage:')
MESSAGES = ('GSH_LOG_WARN', 'GSH_LOG_ERROR')  # in the same call: a line whose level depends on its content
# Functions that word a message, or a part of one, for another to print. All of their texts count, if they contain
# words.
WORDERS = 'snprintf|add|broken'
# Here every text counts: single words, too, are parts of messages.
WORDED = ('runtime/instance/report.c', 'proxy/engine/failure.c')
# Here every text of two words or more counts: tables of names of results and operations.
TABLED = ('base/result.c', 'runtime/api/query.c', 'dialects/nccl/base/error.c', 'proxy/engine/failure.c',
          'proxy/engine/outbox.c', 'tools/gshmemrun_options.c')
# Their texts are names, addresses, paths and settings.
NAMED = ('runtime/far/affinity.c', 'runtime/far/affinity_hwloc.c', 'bootstrap/netif.c', 'bootstrap/pmix.c',
         'proxy/ucx/transport.c', 'nic/adapter.c', 'trace/kernel_events.c', 'trace/load.c', 'trace/objects.c',
         'trace/perfetto.c', 'trace/record.c', 'dialects/nvshmem/include/device_host/nvshmem_types.h')
# Their texts of several words are assembly code, tables that were asked for, a picture's, or another library's
# settings.
NO_TEXTS = ('fiber.c', 'info.c', 'info_nic.c', 'check_facts.c', 'check_report.c', 'coll_table.c', 'environment.c',
            'memory_cpu.cuh', 'trace.c', 'trace_svg.c')
# Elsewhere in C sources each text of three words or more counts, unless it is an argument of one of these.
NOT_TEXTS = r'\b(_Static_assert|static_assert|__asm__|asm(?: volatile)?|gsh_log|log|printf|fputs|fprintf)\s*\('
# They print tables that were asked for.
TABLES = ('coll_table.h',)
# Compiler output for a program's mistake; those in the library's own sources never reach a user.
COMPILED = ('include', 'device', 'cpu')
COMPILER = r'#error\s+("(?:[^"\\\n]|\\.)*"|.*)|\bstatic_assert\s*\('


def arguments(text, start):
    """The text from start to the parenthesis that ends the call."""
    depth, at, is_text = 1, start, False
    while depth and at < len(text):
        if text[at] == '\\':
            at += 1
        elif text[at] == '"':
            is_text = not is_text
        elif not is_text:
            depth += (text[at] == '(') - (text[at] == ')')
        at += 1
    return text[start:at - 1]


def shape(message):
    message = re.sub(r'%%|%[-+ #0-9.*]*(?:[hlzjt]*[a-zA-Z])?', lambda k: '%' if k[0] == '%%' else '...', message)
    message = message.replace('\\n', ' ').replace('\\"', '"').replace('\\\\', '\\')
    message = re.sub(r'\.\.\.(?:\.\.\.)+', '...', message)
    return ' '.join(message.split())


def texts(code):
    """The literals in it, with their pieces and the PRI macros between them."""
    for literal in re.finditer(r'"(?:[^"\\\n]|\\.)*"(?:\s*(?:PRI\w+\s*)?"(?:[^"\\\n]|\\.)*")*', code):
        pieces = re.sub(r'"\s*(?:PRI\w+)?\s*"', lambda m: 'd' if 'PRI' in m[0] else '', literal[0])
        yield shape(pieces[1:-1])


def is_note(inside):
    return any(word in inside for word in NOT_MESSAGES) and not any(word in inside for word in MESSAGES)


def compiled(text):
    """The texts of #error and static_assert."""
    for place in re.finditer(COMPILER, text):
        if place[1]:
            yield shape(place[1].strip('"'))
        elif found := re.search(r',\s*((?:"(?:[^"\\\n]|\\.)*"\s*)+)$', arguments(text, place.end())):
            yield from (message for message in texts(found[1]) if message)


def messages(root):
    found = {}
    for folder in FOLDERS:
        for path, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                if not name.endswith(('.c', '.h', '.cc', '.cu', '.cuh')) or name in TABLES:
                    continue
                with open(os.path.join(path, name), encoding='utf-8') as file:
                    text = re.sub(r'/\*.*?\*/', '', file.read(), flags=re.S).replace('\\\n', ' ')
                where = os.path.relpath(os.path.join(path, name), root)
                worders = '' if where in NAMED else '|' + WORDERS
                if where.split(os.sep)[0] in COMPILED and name.endswith(('.h', '.cuh')):
                    for message in compiled(text):
                        found.setdefault(message, where)
                text = re.sub(r'#error.*', '', text)
                if where in TABLED:
                    for message in texts(text):
                        if len(message.split()) >= 2 and len(re.sub(r'[^a-zA-Z]', '', message)) > 3 and \
                                not message.startswith('usage:'):
                            found.setdefault(message, where)
                if name.endswith('.h') and where not in NAMED:
                    for body in re.findall(r'^#define \w+ *(".*)$', text, re.M):
                        for message in texts(body):
                            if len(message.split()) >= 3:
                                found.setdefault(message, where)
                for call in re.finditer(rf'\b({CALLS}{worders})\s*\(', text):
                    inside, is_worded = arguments(text, call.end()), where in WORDED
                    is_part = call[1] in WORDERS.split('|') and not is_worded
                    if not is_worded and (inside.startswith('out,') or is_note(inside)):
                        continue
                    # The first text that contains words, with its pieces and the PRI macros between them.
                    for literal in re.finditer(r'"(?:[^"\\]|\\.)*"(?:\s*(?:PRI\w+\s*)?"(?:[^"\\]|\\.)*")*', inside):
                        pieces = re.sub(r'"\s*(?:PRI\w+)?\s*"', lambda m: 'd' if 'PRI' in m[0] else '', literal[0])
                        message = shape(pieces[1:-1])
                        is_message = len(re.sub(r'[^a-zA-Z]', '', message)) > 2 and not (is_part and ' ' not in message)
                        if is_message:
                            found.setdefault(message, where)
                        if is_message and '?' not in inside[:literal.start()]:
                            break
                if name.endswith(('.c', '.cu', '.cuh')) and where not in NAMED and name not in NO_TEXTS:
                    for call in reversed(list(re.finditer(NOT_TEXTS, text))):
                        inside = arguments(text, call.end())
                        if call[1] not in ('gsh_log', 'log', 'fprintf') or is_note(inside):
                            text = text[:call.end()] + text[call.end() + len(inside):]
                    for message in texts(text):
                        if len(message.split()) >= 3 and len(re.sub(r'[^a-zA-Z]', '', message)) > 8:
                            found.setdefault(message, where)
    return found


def documented(root):
    """The messages in the fenced blocks of the document, one per line; an indented line continues the one before."""
    with open(os.path.join(root, 'docs/errors.md'), encoding='utf-8') as file:
        blocks = re.findall(r'^```text\n(.*?)^```', file.read(), re.M | re.S)
    return [line for block in blocks for line in re.sub(r'\n {4}', ' ', block).splitlines()]


def sections(root):
    """(title, text) of each section that has messages."""
    with open(os.path.join(root, 'docs/errors.md'), encoding='utf-8') as file:
        text = file.read()
    for place in re.finditer(r'^###? (.*)\n((?:(?!^##).*\n)*)', text, re.M):
        if '```text' in place[2]:
            yield place[1], place[2]


def main():
    root = sys.argv[1]
    found = messages(root)
    if '--list' in sys.argv:
        print('\n'.join(f'{where}\t{message}' for message, where in sorted(found.items(), key=lambda row: row[1])))
        return
    known, failed = documented(root), 0
    for message, where in found.items():
        if message not in known:
            print(f'{where}: not in docs/errors.md: {message}')
            failed += 1
    for title, body in sections(root):
        if not re.match(r'\n\*What happened\.\* .*?\n\n\*What to do\.\* ', body, re.S):
            print(f'docs/errors.md: "{title}" does not say what happened and what to do')
            failed += 1
    for message in known:
        if message not in found:
            print(f'docs/errors.md: no such message in the sources: {message}')
            failed += 1
        if known.count(message) > 1:
            print(f'docs/errors.md: twice: {message}')
            failed += 1
    print(f'{len(found)} messages')
    sys.exit(1 if failed or not found else 0)


main()
