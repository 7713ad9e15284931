"""The Airy function Ai, by the rational approximations of Cephes that ATen's kernel has too.

Below -2.09 it is a wave, above 2.09 it decays; between them is the Maclaurin series (Abramowitz and
Stegun 10.4.2).
"""

from __future__ import annotations

import math

import torch

from torch_neuronx.lowering import hlo
from torch_neuronx.lowering.elementwise import horner, number, pointwise, where
from torch_neuronx.lowering.value import Value

aten = torch.ops.aten

# Of the highest power first, as pairs numerator and denominator.
DECAY = (
    (3.46538101525629032477e-01, 1.20075952739645805542e01, 7.62796053615234516538e01,
     1.68089224934630576269e02, 1.59756391350164413639e02, 7.05360906840444183113e01,
     1.40264691163389668864e01, 9.99999999999999995305e-01),
    (5.67594532638770212846e-01, 1.47562562584847203173e01, 8.45138970141474626562e01,
     1.77318088145400459522e02, 1.64234692871529701831e02, 7.14778400825575695274e01,
     1.40959135607834029598e01, 1.00000000000000000470e00),
)  # fmt: skip
SINE = (
    (-1.31696323418331795333e-01, -6.26456544431912369773e-01, -6.93158036036933542233e-01,
     -2.79779981545119124951e-01, -4.91900132609500318020e-02, -4.06265923594885404393e-03,
     -1.59276496239262096340e-04, -2.77649108155232920844e-06, -1.67787698489114633780e-08),
    (1.33560420706553243746e01, 3.26825032795224613948e01, 2.67367040941499554804e01,
     9.18707402907259625840e00, 1.47529146771666414581e00, 1.15687173795188044134e-01,
     4.40291641615211203805e-03, 7.54720348287414296618e-05, 4.51850092970580378464e-07),
)  # fmt: skip
COSINE = (
    (1.97339932091685679179e-02, 3.91103029615688277255e-01, 1.06579897599595591108e00,
     9.39169229816650230044e-01, 3.51465656105547619242e-01, 6.33888919628925490927e-02,
     5.85804113048388458567e-03, 2.82851600836737019778e-04, 6.98793669997260967291e-06,
     8.11789239554389293311e-08, 3.41551784765923618484e-10),
    (9.30892908077441974853e00, 1.98352928718312140417e01, 1.55646628932864612953e01,
     5.47686069422975497931e00, 9.54293611618961883998e-01, 8.64580826352392193095e-02,
     4.12656523824222607191e-03, 1.01259085116509135510e-04, 1.17166733214413521882e-06,
     4.91834570062930015649e-09),
)  # fmt: skip
NEAR, GONE = 2.09, 103.892
ROOT_PI = 5.64189583547756286948e-01  # 1 / sqrt(pi)
AT_ZERO, SLOPE_AT_ZERO = 0.355028053887817239260, 0.258819403792806798405
TERMS = 14  # of the series: the last is below float64's precision at |x| = 2.09


def _ratio(x: Value, table) -> Value:
    return horner(x, table[0]) / horner(x, table[1])


def _wave(x: Value) -> Value:
    """For x < 0; the argument is its size."""
    root = hlo.sqrt(x)
    zeta = x * root * (2.0 / 3.0)
    z = 1.0 / zeta
    angle = zeta + math.pi / 4
    sine = hlo.sine(angle) * (z * z * _ratio(z * z, SINE) + 1.0)
    cosine = hlo.cosine(angle) * (z * _ratio(z * z, COSINE))
    return (sine - cosine) * ROOT_PI / hlo.sqrt(root)


def _decay(x: Value) -> Value:
    root = hlo.sqrt(x)
    zeta = x * root * (2.0 / 3.0)
    return _ratio(1.0 / zeta, DECAY) * ROOT_PI / (hlo.sqrt(root) * hlo.exp(zeta) * 2.0)


def _series(x: Value) -> Value:
    cube = x * x * x
    even, odd = number(1.0, x), x
    m, n = even, odd
    for k in range(1, 3 * TERMS, 3):
        m = m * cube * (1.0 / ((k + 1) * (k + 2)))
        n = n * cube * (1.0 / ((k + 2) * (k + 3)))
        even, odd = even + m, odd + n
    return even * AT_ZERO - odd * SLOPE_AT_ZERO


@pointwise(aten.special_airy_ai.default)
def airy_ai(x):
    """NaN at both infinities, as in ATen."""
    far = hlo.max(hlo.abs(x), NEAR)
    value = _series(hlo.min(hlo.max(x, -NEAR), NEAR))
    value = hlo.select(x < -NEAR, _wave(far), hlo.select(x >= NEAR, _decay(far), value))
    value = where(x > GONE, 0.0, value)
    return where((hlo.abs(x) == math.inf) | hlo.is_nan(x), math.nan, value)
