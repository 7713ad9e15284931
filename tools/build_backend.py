"""The PEP 517 build backend: setuptools, plus the choice of the torch to build against.

An extension works only with the torch it was compiled for. In an isolated build (plain
``pip install .``) nothing of the target environment is importable, so setup.py reads torch's
headers from the target's site-packages by path. Only where that has no torch does this
backend ask for one, pinned, and the wheel then requires the same release at run time.

Called by pip and build; not imported by the package.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from find_torch import DEFAULT_TORCH, find_torch
from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403 - the hooks that need no change


def _torch_if_missing() -> list[str]:
    return [] if find_torch() else [DEFAULT_TORCH]


def get_requires_for_build_wheel(config_settings=None) -> list[str]:
    return build_meta.get_requires_for_build_wheel(config_settings) + _torch_if_missing()


def get_requires_for_build_editable(config_settings=None) -> list[str]:
    return build_meta.get_requires_for_build_editable(config_settings) + _torch_if_missing()
