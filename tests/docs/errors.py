#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every message that the sources can print, and each part of one that is worded apart, stands in docs/errors.md, under
an explanation, and that document holds no message that is gone. What differs from one time to the next (a number, a
name, a reason) is written as three dots.

    errors.py ROOT [--list]      --list prints the messages that the sources have"""
import os, re, sys

FOLDERS = ['bootstrap', 'heap', 'proxy', 'runtime', 'device', 'tools', 'dialects']
# Functions whose first text says what went wrong. Info and trace lines tell what is done, and are left out.
CALLS = ('gsh_fail|gsh_fail_errno|gsh_note|note_errno|note|gsh_abort|gsh_agree_fail|gsh_engine_fail|gsh_task_fail|'
         'gsh_cuda_note|fail_job|fail|refused|say|gsh_log|fprintf|dprintf|report_text|die|gsh_block_fatal|'
         'gsh_device_fatal|gsh_ucx_break_for|gsh_end_job|usage_error|gsh_nccl_fail|refuse')
NOT_MESSAGES = ('GSH_LOG_INFO', 'GSH_LOG_TRACE', 'stdout', 'usage:')
# Functions that word a message, or a part of one, for another to print. All of their texts count, if they have words.
WORDERS = 'snprintf|add'
# Here every text of theirs counts: single words, too, are parts of messages.
WORDED = ('runtime/job/report.c', 'proxy/engine/failure.c')
# Their texts are names, addresses, paths and settings.
NAMED = ('runtime/setup/place.c', 'runtime/setup/place_hwloc.c', 'bootstrap/netif.c', 'bootstrap/pmix.c',
         'proxy/ucx/transport.c')
# Their texts of several words are code of assembly, tables that were asked for, or another library's settings.
NO_TEXTS = ('fiber.c', 'info.c', 'coll_table.c', 'environment.c')
# Elsewhere in C sources each text of three words or more counts, unless it is for one of these.
NOT_TEXTS = r'\b(_Static_assert|__asm__|asm|gsh_log|log|printf|fputs|fprintf)\s*\('
# They print tables that were asked for.
TABLES = ('offset_check.c', 'coll_table.h')


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
    message = re.sub(r'%[-+ #0-9.*]*(?:[hlzjt]*[a-zA-Z])?', '...', message)
    message = message.replace('\\n', ' ').replace('\\"', '"').replace('\\\\', '\\')
    message = re.sub(r'\.\.\.(?:\.\.\.)+', '...', message)
    return ' '.join(message.split())


def texts(code):
    """The literals in it, with their pieces and the PRI macros between them."""
    for literal in re.finditer(r'"(?:[^"\\\n]|\\.)*"(?:\s*(?:PRI\w+\s*)?"(?:[^"\\\n]|\\.)*")*', code):
        pieces = re.sub(r'"\s*(?:PRI\w+)?\s*"', lambda m: 'd' if 'PRI' in m[0] else '', literal[0])
        yield shape(pieces[1:-1])


def messages(root):
    found = {}
    for folder in FOLDERS:
        for path, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                if not name.endswith(('.c', '.h', '.cc', '.cuh')) or name in TABLES:
                    continue
                with open(os.path.join(path, name), encoding='utf-8') as file:
                    text = re.sub(r'/\*.*?\*/', '', file.read(), flags=re.S)
                where = os.path.relpath(os.path.join(path, name), root)
                worders = '' if where in NAMED else '|' + WORDERS
                for call in re.finditer(rf'\b({CALLS}{worders})\s*\(', text):
                    inside, is_worded = arguments(text, call.end()), where in WORDED
                    is_part = call[1] in WORDERS.split('|') and not is_worded
                    if not is_worded and (inside.startswith('out,') or any(word in inside for word in NOT_MESSAGES)):
                        continue
                    # The first text that has words; with its pieces and the PRI macros between them.
                    for literal in re.finditer(r'"(?:[^"\\]|\\.)*"(?:\s*(?:PRI\w+\s*)?"(?:[^"\\]|\\.)*")*', inside):
                        pieces = re.sub(r'"\s*(?:PRI\w+)?\s*"', lambda m: 'd' if 'PRI' in m[0] else '', literal[0])
                        message = shape(pieces[1:-1])
                        is_message = len(re.sub(r'[^a-zA-Z]', '', message)) > 3 and not (is_part and ' ' not in message)
                        if is_message:
                            found.setdefault(message, where)
                        if is_message and '?' not in inside[:literal.start()]:
                            break
                if name.endswith('.c') and where not in NAMED and name not in NO_TEXTS:
                    for call in reversed(list(re.finditer(NOT_TEXTS, text))):
                        inside = arguments(text, call.end())
                        if call[1] not in ('gsh_log', 'log', 'fprintf') or any(word in inside for word in NOT_MESSAGES):
                            text = text[:call.end()] + text[call.end() + len(inside):]
                    for message in texts(text):
                        if len(message.split()) >= 3 and len(re.sub(r'[^a-zA-Z]', '', message)) > 8:
                            found.setdefault(message, where)
    return found


def documented(root):
    """The messages in the fenced blocks of the document, a line each; one that is set in continues the line before."""
    with open(os.path.join(root, 'docs/errors.md'), encoding='utf-8') as file:
        blocks = re.findall(r'^```text\n(.*?)^```', file.read(), re.M | re.S)
    return [line for block in blocks for line in re.sub(r'\n {4}', ' ', block).splitlines()]


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
