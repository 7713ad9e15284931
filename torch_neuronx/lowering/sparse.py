"""The programs that sparse tensors are made of: operators whose decompositions are ours.

They are declared beside the kernels that call them, in torch_neuronx/sparse. Imported here so that
the table of decompositions, made once, has them.
"""

import torch_neuronx.sparse.index_programs
import torch_neuronx.sparse.value_programs  # noqa: F401
