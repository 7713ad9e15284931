"""How far two devices may differ that add the same numbers in different orders."""

import torch


def roundings(terms, dtype=torch.float32):
    """The tolerance of a result on whose longest path `terms` numbers are added or multiplied: each
    rounds by at most half of the dtype's epsilon, and both sides do.

    Returns `rtol` and `atol` for results of the order of 1.
    """
    bound = terms * torch.finfo(dtype).eps
    return {"rtol": bound, "atol": bound}


def close(got, want, terms, dtype=torch.float32):
    """Numbers or tensors of any device agree within `roundings`."""
    got, want = (torch.as_tensor(x).detach().cpu().float() for x in (got, want))
    torch.testing.assert_close(got, want, **roundings(terms, dtype))
