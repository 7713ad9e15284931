"""StableHLO ops as typed functions on `Value`s: the vocabulary in which every rule is written.

Each function is a thin wrapper that infers the result's shape and dtype and builds one op (or, for
PyTorch's casts, a few). No function converts dtypes implicitly. The MLIR bindings are imported on
first use, not with this package, so that reading the registry costs nothing.
"""
# ruff: noqa: F401 - this module is the list of names

from torch_neuronx.lowering.hlo.binary import (
    add,
    and_,
    atan2,
    clamp,
    compare,
    complex,
    div,
    max,
    min,
    mul,
    next_after,
    or_,
    polygamma,
    pow,
    rem,
    select,
    shl,
    shr_arith,
    shr_logical,
    sub,
    xor,
    zeta,
)
from torch_neuronx.lowering.hlo.cast import bitcast, convert, reduce_precision
from torch_neuronx.lowering.hlo.contraction import (
    cholesky,
    convolution,
    dot_general,
    fft,
    triangular_solve,
)
from torch_neuronx.lowering.hlo.control import (
    Block,
    call,
    case,
    if_,
    if_blocks,
    while_,
    while_block,
)
from torch_neuronx.lowering.hlo.create import constant, full, iota, literal, number
from torch_neuronx.lowering.hlo.reduce import (
    reduce,
    reduce_window,
    select_and_scatter,
    sort,
    top_k,
    variadic_reduce,
    variadic_reduce_window,
)
from torch_neuronx.lowering.hlo.scatter import gather, scatter
from torch_neuronx.lowering.hlo.shape import (
    broadcast_in_dim,
    broadcast_to,
    concat,
    dynamic_slice,
    dynamic_update_slice,
    expand_dims,
    pad,
    reshape,
    reverse,
    slice,
    slice_dim,
    transpose,
    wrap_dim,
)
from torch_neuronx.lowering.hlo.unary import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    bessel_i1e,
    cbrt,
    ceil,
    conj,
    cosh,
    cosine,
    count_leading_zeros,
    digamma,
    erf,
    erf_inv,
    erfc,
    exp,
    expm1,
    floor,
    imag,
    is_finite,
    is_inf,
    is_nan,
    lgamma,
    log,
    log1p,
    logistic,
    neg,
    not_,
    popcnt,
    real,
    round_even,
    rsqrt,
    sign,
    sine,
    sinh,
    sqrt,
    tan,
    tanh,
)
