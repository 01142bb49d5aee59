#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what docs/guide/ and the README tell their readers to type, page by page, and compares the output with what
they show.

    guide.py BUILD_DIR [--thread-sanitizer]

Fenced blocks: ```cpp file=NAME is written to NAME. ```sh is run by bash, and shares directory and exports with the
blocks after it. Its tags:

    fails            must exit with an error
    nvcc, gpu, ucx   needs that
    tsan             needs a build with the thread sanitizer, which runs only these, and the blocks that make what they
                     need; exports no search path, since later blocks would find that build
    in-gshmem        starts in the directory of the sources
    installed        runs with a copy of what this build installs, in $PREFIX; what it exports is forgotten

Each line of a ```text block must occur in the output of the ```sh block before it, under the same heading. A block
that this test cannot prove says so by the tag `untested`; blocks that are merely indented are refused.

Commands that configure, build and install would change the build that the tests run in. They are checked instead:
options of `meson setup` against those of this build, `ninja` by its dry run, `meson install` by what it would install
(tests/api/installed.sh installs). The README may have 120 lines."""
import json, os, re, shlex, shutil, subprocess, sys, tempfile

PAGES = ['docs/guide/' + page for page in ('install.md', 'first-program.md', 'several-nodes.md', 'debugging.md',
                                           'tuning.md', 'own-memory.md', 'dialects.md')] + ['README.md']
README_LINES = 120
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMIT = 240  # seconds for one block


def blocks(page):
    """(line, heading, words after the fence, text) of each fenced block; indented blocks have no words."""
    fence, found, start, heading, is_blank = None, [], 0, '', True
    with open(os.path.join(ROOT, page), encoding='utf-8') as lines:
        for number, line in enumerate(lines, 1):
            if line.startswith('```'):
                if fence is None:
                    fence, text, start = line[3:].split() or [''], [], number
                else:
                    found.append((start, heading, fence, ''.join(text)))
                    fence = None
            elif fence is not None:
                text.append(line)
            elif line.startswith('#'):
                heading = line
            elif is_blank and line.startswith('    '):
                found.append((number, heading, [''], line))
            is_blank = not line.strip()
    if fence is not None:
        sys.exit(f'{page}:{start}: the block has no end')
    return found


def has(command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


class Guide:
    def __init__(self, build, is_tsan):
        self.build, self.is_tsan, self.failed, self.output = os.path.abspath(build), is_tsan, 0, None
        self.n_run = 0
        self.home = tempfile.mkdtemp(prefix='gshmem-guide-')
        # The sources as the reader has them, with the build under test in the place where the guide builds.
        self.sources = os.path.join(self.home, 'gshmem')
        os.mkdir(self.sources)
        for name in os.listdir(ROOT):
            if not name.startswith('build'):
                os.symlink(os.path.join(ROOT, name), os.path.join(self.sources, name))
        os.symlink(self.build, os.path.join(self.sources, 'build-tsan' if is_tsan else 'build'))
        self.directory, self.environment = self.sources, dict(os.environ)
        for name in ('GSHMEM_DEVICE', 'GSHMEM_WAIT_TIMEOUT', 'PKG_CONFIG_PATH', 'TSAN_OPTIONS'):
            self.environment.pop(name, None)
        info, gpus = (subprocess.run([os.path.join(self.build, 'gshmem-info'), *option], stdout=subprocess.PIPE,
                                     text=True, check=True).stdout for option in ([], ['--gpus']))
        self.present = {'nvcc': shutil.which('nvcc') is not None, 'ucx': '\n  ucx          UCX' in info,
                        'gpu': shutil.which('nvcc') is not None and gpus.strip() != '0', 'tsan': is_tsan}

    def say_failed(self, where, why):
        print(f'{where}: {why}')
        self.failed += 1

    def options(self):
        shown = subprocess.run(['meson', 'introspect', '--buildoptions', self.build], stdout=subprocess.PIPE, text=True,
                               check=True).stdout
        return {option['name']: str(option['value']).lower() for option in json.loads(shown)}

    def check_build_command(self, where, command):
        """True: it was such a command, and has been checked."""
        words = shlex.split(command, comments=True)
        if words[:2] == ['meson', 'setup']:
            options = self.options()
            for word in words[2:]:
                name, _, value = word.removeprefix('-D').partition('=')
                if word.startswith('-D') and options.get(name) != value:
                    self.say_failed(where, f'{word} is not how the thread sanitizer is built for the tests: '
                                           f'{options.get(name)}')
        elif words[:2] == ['ninja', '-C']:
            self.bash(where, command.replace('ninja', 'ninja -n', 1) + '\n', [])
        elif words[:2] == ['meson', 'install']:
            self.bash(where, 'meson introspect --installed build | grep -q libgshmem.so\n', [])
        else:
            return False
        return True

    def installed(self):
        """The environment of a user of what this build installs, elsewhere than it was configured for."""
        root = os.path.join(self.home, 'installed')
        if not os.path.exists(root):
            subprocess.run(['meson', 'install', '-C', self.build, '--no-rebuild', '--quiet', '--destdir', root],
                           check=True)
        options = self.options()
        prefix = root + options['prefix']
        libraries = os.path.join(prefix, options['libdir'])
        return {'PREFIX': prefix, 'LIBDIR': libraries, 'PATH': f'{prefix}/bin:{os.environ["PATH"]}',
                'PKG_CONFIG_PATH': f'{libraries}/pkgconfig'}

    def bash(self, where, text, tags):
        state = os.path.join(self.home, 'state')
        script = f'set -e -o pipefail\ncd "$GUIDE_DIRECTORY"\n{text}\n' \
                 f'pwd > {state}.pwd; env -0 > {state}.env\n'
        environment = dict(self.environment, GUIDE_DIRECTORY=self.directory)
        if 'installed' in tags:
            environment.update(self.installed())
        self.n_run += 1
        print(f'== {where}\n{text}', end='', flush=True)
        run = subprocess.run(['timeout', '-k', '5', str(LIMIT), 'bash', '-c', script], env=environment,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.output = run.stdout
        if run.returncode == 124:
            self.say_failed(where, f'did not end within {LIMIT} s:\n{run.stdout[-3000:]}')
        elif (run.returncode != 0) != ('fails' in tags):
            self.say_failed(where, f'exit status {run.returncode}:\n{run.stdout[-3000:]}')
        elif run.returncode == 0 and 'installed' not in tags:
            with open(state + '.pwd', encoding='utf-8') as file:
                self.directory = file.read().rstrip('\n')
            with open(state + '.env', encoding='utf-8') as file:
                self.environment = dict(pair.split('=', 1) for pair in file.read().split('\0') if '=' in pair)

    def shell(self, where, text, tags):
        self.output = None
        missing = [tag for tag in tags if not self.present.get(tag, True)]
        # Besides the blocks for it, the thread sanitizer's run needs the files and folders that they use.
        prepares = re.match(r'(mkdir|sed) ', text) and len(text.splitlines()) == 1
        if missing or (self.is_tsan and 'tsan' not in tags and not prepares):
            print(f'== {where}: not run here' + (f', without {", ".join(missing)}' if missing else ''))
            return
        back, paths = self.directory, {name: self.environment.get(name) for name in ('PATH', 'PKG_CONFIG_PATH')}
        if 'in-gshmem' in tags:
            self.directory = self.sources
        for name in re.findall(r'^mkdir (\S+)', text, re.M):
            if os.path.exists(os.path.join(self.sources, name)):
                self.say_failed(where, f'{name} exists in the sources, where Install leaves its reader')
        rest = [line for line in text.replace('\\\n', '').splitlines()
                if not all([self.check_build_command(where, part) for part in line.split(' && ')])]
        if rest:
            self.bash(where, '\n'.join(rest) + '\n', tags)
        if 'in-gshmem' in tags:
            self.directory = back
        elif 'tsan' in tags and self.directory != back:
            self.say_failed(where, 'leaves the reader in another directory')
        if 'tsan' in tags and any(self.environment.get(name) != value for name, value in paths.items()):
            self.say_failed(where, 'later blocks would use the library for the thread sanitizer')

    def page(self, page):
        before = None  # the heading of the block before, if that was a command's
        for line, heading, (kind, *tags), text in blocks(page):
            where = f'{page}:{line}'
            files = [tag[5:] for tag in tags if tag.startswith('file=')]
            if kind == 'sh' and 'untested' not in tags:
                unknown = set(tags) - {'fails', 'nvcc', 'gpu', 'ucx', 'tsan', 'in-gshmem', 'installed'}
                if unknown:
                    self.say_failed(where, f'unknown tags: {unknown}')
                self.shell(where, text, tags)
            elif tags == ['untested']:
                print(f'== {where}: says that it is untested')
            elif kind == 'text':
                if before != heading:
                    self.say_failed(where, 'output without a command in front of it')
                for wanted in text.splitlines() if self.output is not None else []:
                    if wanted not in self.output:
                        self.say_failed(where, f'"{wanted}" is not in the output:\n{self.output[-3000:]}')
            elif files:
                with open(os.path.join(self.directory, files[0]), 'w', encoding='utf-8') as file:
                    file.write(text)
            else:
                self.say_failed(where, 'a block that is neither sh, text nor a file: nothing proves it')
            before = heading if kind == 'sh' and 'untested' not in tags else None


def main():
    guide = Guide(sys.argv[1], '--thread-sanitizer' in sys.argv[2:])
    try:
        for page in PAGES:
            guide.page(page)
        with open(os.path.join(ROOT, 'README.md'), encoding='utf-8') as file:
            if (lines := len(file.readlines())) > README_LINES:
                guide.say_failed('README.md', f'{lines} lines are more than {README_LINES}')
    finally:
        shutil.rmtree(guide.home)
    print(f'{guide.n_run} blocks run')
    sys.exit(1 if guide.failed or not guide.n_run else 0)


main()
