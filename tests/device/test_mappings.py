"""A process with many programs does not run out of memory mappings: old programs are unloaded."""

from subprocesses import run

PROGRAM = """
import ctypes, mmap
import torch, torch_neuronx


def mappings():
    with open("/proc/self/maps") as lines:
        return sum(1 for _ in lines)


# All but {left} of the process's mappings: pages of one block, protected in turns.
left = {left}
limit = int(open("/proc/sys/vm/max_map_count").read())
count = limit - mappings() - left
libc = ctypes.CDLL(None)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
block = mmap.mmap(-1, count * mmap.PAGESIZE)
start = ctypes.addressof(ctypes.c_char.from_buffer(block))
for page in range(0, count, 2):
    assert libc.mprotect(start + page * mmap.PAGESIZE, mmap.PAGESIZE, mmap.PROT_READ) == 0
assert mappings() > limit - 2 * left

matrices = [torch.randn(rows, 3) for rows in range(2, 2 + left)]
for matrix in matrices:
    there = matrix.to("neuron")
    torch.testing.assert_close((there.t() @ there).sum(0).cpu(), (matrix.t() @ matrix).sum(0))
print("programs", torch_neuronx.cache_info().programs_in_memory < len(matrices))
"""


def test_programs_make_room_for_others(tmp_path):
    done = run(PROGRAM.replace("{left}", "200"), TORCH_NEURONX_NEFF_CACHE_DIR=str(tmp_path))
    assert "programs True" in done.stdout
