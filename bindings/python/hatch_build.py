# SPDX-License-Identifier: Apache-2.0
"""Builds the library with Meson while the wheel is built, and puts what `meson install` installs into the package's
folder _prefix. Options for Meson: the variable GSHMEM_WHEEL_MESON_ARGS, separated by spaces. GSHMEM_WHEEL_BUILD names a
build folder that is up to date: what it installs is taken, and nothing is built."""
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def find_meson():
    """Meson of the build environment, else of the system."""
    beside = os.path.join(sysconfig.get_path('scripts'), 'meson')
    return beside if os.path.exists(beside) else shutil.which('meson') or sys.exit('gshmem: there is no meson')


def install(meson, root, folder, build):
    """Returns the prefix in which everything now is, and the package's native part."""
    staging, prefix = os.path.join(folder, 'staging'), '/prefix'
    if build is None:
        build = os.path.join(root, 'build-wheel')  # kept: the next build compiles what has changed
        subprocess.run([meson, 'setup', '--reconfigure', build, root, '--prefix', prefix, '--libdir', 'lib',
                        '--buildtype', 'release', '-Dtests=false', '-Dexamples=false', '-Dstrip=true',
                        *for_old_systems(), *os.environ.get('GSHMEM_WHEEL_MESON_ARGS', '').split()], check=True)
        subprocess.run([meson, 'compile', '-C', build], check=True)
    else:
        options = json.loads(subprocess.run([meson, 'introspect', build, '--buildoptions'], check=True,
                                            stdout=subprocess.PIPE).stdout)
        prefix = next(o['value'] for o in options if o['name'] == 'prefix')
    subprocess.run([meson, 'install', '-C', build, '--no-rebuild', '--quiet', '--destdir', staging], check=True)
    return staging + prefix, os.path.join(build, 'bindings', 'python', '_native.abi3.so')


def without_links(included, scratch):
    """A wheel has no links. A library is kept once, under the name that programs load (libx.so.0); the name that
    linkers look for (libx.so) becomes a linker script; a link from another folder becomes a copy."""
    targets = {os.path.realpath(path) for path in included if os.path.islink(path)}
    for path, inside in included.items():
        if not os.path.islink(path):
            has_soname = path in targets and any(os.path.dirname(p) == os.path.dirname(path) and os.path.islink(p) and
                                                 not p.endswith('.so') and os.path.realpath(p) == path
                                                 for p in included)
            if not has_soname:
                yield path, inside
        elif path.endswith('.so'):
            script = os.path.join(scratch, inside.replace('/', '_'))
            with open(script, 'w') as file:
                file.write(f'INPUT({os.path.basename(os.readlink(path))})\n')
            yield script, inside
        else:
            copy = os.path.join(scratch, 'of_' + inside.replace('/', '_'))
            shutil.copy2(os.path.realpath(path), copy)
            yield copy, inside


# The x of manylinux_2_x, and the newest versions of symbols that a library may need there.
PLATFORMS = [(17, {'GLIBC': (2, 17), 'GLIBCXX': (3, 4, 19), 'CXXABI': (1, 3, 7)}),
             (28, {'GLIBC': (2, 28), 'GLIBCXX': (3, 4, 24), 'CXXABI': (1, 3, 11)}),
             (31, {'GLIBC': (2, 31), 'GLIBCXX': (3, 4, 28), 'CXXABI': (1, 3, 12)}),
             (34, {'GLIBC': (2, 34), 'GLIBCXX': (3, 4, 29), 'CXXABI': (1, 3, 13)})]


def needed_versions(paths):
    """The newest version of each of these libraries that the ELF files use; None if readelf cannot say."""
    needed = {}
    for path in paths:
        with open(path, 'rb') as file:
            if file.read(4) != b'\x7fELF':
                continue
        try:
            text = subprocess.run(['readelf', '--version-info', '--wide', path], check=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL).stdout.decode(errors='replace')
        except (OSError, subprocess.CalledProcessError):
            return None
        for family, version in re.findall(r'\bName: (GLIBC|GLIBCXX|CXXABI)_([0-9.]+)', text):
            needed[family] = max(needed.get(family, ()), tuple(map(int, version.split('.'))))
    return needed or None


def platform_tag(paths):
    """The oldest platform of which auditwheel says that these files run there."""
    needed = needed_versions(paths)
    if needed is None or sys.platform != 'linux':
        return f'linux_{platform.machine()}'
    for x, has in PLATFORMS:
        if all(version <= has[family] for family, version in needed.items()):
            return f'manylinux_2_{x}_{platform.machine()}'
    return f'linux_{platform.machine()}'


def for_old_systems():
    """Meson's option by which what is built also runs on older systems than this one (packaging/glibc)."""
    is_known = sys.platform == 'linux' and platform.machine() == 'x86_64' and platform.libc_ver()[0] == 'glibc'
    return ['-Dold_glibc=true'] if is_known else []


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version, build_data):
        if version == 'editable':
            raise RuntimeError('gshmem: an editable installation has no library; build the wheel')
        self.folder = tempfile.mkdtemp(prefix='gshmem-wheel-')
        prefix, native = install(find_meson(), self.root, self.folder, os.environ.get('GSHMEM_WHEEL_BUILD'))
        included = {}
        for folder, _, names in os.walk(prefix):
            for name in [] if folder.endswith('/man3') else names:  # thousands of pages: the headers say the same
                path = os.path.join(folder, name)
                included[path] = os.path.relpath(path, prefix)
        build_data['force_include'][native] = 'gshmem/_native.abi3.so'
        for source, inside in without_links(included, self.folder):
            build_data['force_include'][source] = f'gshmem/_prefix/{inside}'
        build_data['pure_python'] = False
        build_data['tag'] = f'cp39-abi3-{platform_tag([native, *included])}'

    def finalize(self, version, build_data, artifact_path):
        shutil.rmtree(self.folder, ignore_errors=True)
