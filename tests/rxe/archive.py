# SPDX-License-Identifier: Apache-2.0
"""An initramfs: an archive in cpio's format "newc", which the kernel unpacks into memory as its root. Files of this
system are in it under the paths that they have here, programs and libraries with the libraries that they name."""
import os
import re
import stat
import subprocess


class Archive:
    def __init__(self):
        self.entries = {}  # path without leading slash -> (mode, content, device)

    def _parents(self, path):
        while path := os.path.dirname(path):
            self.entries.setdefault(path, (stat.S_IFDIR | 0o755, b'', (0, 0)))

    def folder(self, path):
        self.write(path, b'', stat.S_IFDIR | 0o755)

    def link(self, path, target):
        self.write(path, target.encode(), stat.S_IFLNK | 0o777)

    def console(self, path):
        self.write(path, b'', stat.S_IFCHR | 0o600, (5, 1))

    def write(self, path, content, mode=stat.S_IFREG | 0o644, device=(0, 0)):
        path = path.strip('/')
        self.entries[path] = (mode, content, device)
        self._parents(path)

    def copy(self, source, path=None):
        """The file's content, whatever links lead to it. Without path: at its own, of which folders are real ones."""
        if path is None:
            path = os.path.join(os.path.realpath(os.path.dirname(source)), os.path.basename(source))
        with open(source, 'rb') as file:
            content = file.read()
        self.write(path, content, stat.S_IFREG | (0o755 if os.access(source, os.X_OK) else 0o644))

    def copy_program(self, source):
        """A program or library, with the libraries that it is linked to."""
        self.copy(source)
        listing = subprocess.run(['ldd', source], check=True, capture_output=True, text=True).stdout
        missing = re.findall(r'^\s*(\S+) => not found', listing, re.M)
        if missing:
            raise FileNotFoundError(f'{source}: no library {", ".join(missing)}')
        for library in re.findall(r'(/\S+) \(0x', listing):
            self.copy(library)

    def save(self, path):
        with open(path, 'wb') as out:
            # Folders come before what is in them.
            for number, name in enumerate(sorted(self.entries), 1):
                mode, content, device = self.entries[name]
                self._entry(out, name, number, mode, content, device)
            self._entry(out, 'TRAILER!!!', 0, 0, b'', (0, 0))

    @staticmethod
    def _entry(out, name, number, mode, content, device):
        name = name.encode() + b'\0'
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(name), 0)
        out.write(b'070701' + b''.join(b'%08X' % field for field in fields) + name)
        out.write(b'\0' * (-out.tell() % 4) + content)
        out.write(b'\0' * (-out.tell() % 4))
