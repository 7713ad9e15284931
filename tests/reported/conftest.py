"""Every row runs eagerly, and again with what is compared under torch.compile."""

import agreement
import pytest


@pytest.fixture(autouse=True, params=["eager", "compiled"])
def _mode(request, _compiled):
    with agreement.compiling(request.param == "compiled"):
        yield
