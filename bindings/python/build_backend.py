# SPDX-License-Identifier: Apache-2.0
"""hatchling, which also tells pip the package's name, version and needs without building it. hatchling alone has pip
build the wheel for that, silently, as its hooks may add to the needs; ours (hatch_build.py) adds none."""
import os

_tracker = os.environ.pop('PIP_BUILD_TRACKER', None)  # by which hatchling knows pip
from hatchling.build import *  # noqa: E402, F401, F403

if _tracker is not None:
    os.environ['PIP_BUILD_TRACKER'] = _tracker
