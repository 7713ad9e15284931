"""Every CPU plugin that is installed, and a client of each with two devices."""

import pytest
from pjrt_programs import find_plugins


@pytest.fixture(scope="module", params=find_plugins(), ids=lambda path: path.parent.name)
def plugin(request):
    return str(request.param)


@pytest.fixture(scope="module")
def client(plugin):
    from torch_neuronx import _C

    return _C.Client.open(plugin, {"cpu_device_count": 2})
