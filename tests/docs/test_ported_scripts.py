"""What docs/migration.md promises: a script for CUDA runs with one word replaced, and one that asks
torch.accelerator runs as it is. Both learn what the same loop learns on the CPU.
"""

import pytest
import torch

import torch_neuronx

FEATURES, HIDDEN, ROWS, BATCH, EPOCHS = 8, 16, 32, 8, 2

# Float16 with a scaler, a side stream for copies, events, memory and random state: what scripts do.
CUDA = """
assert torch.cuda.is_available() and torch.cuda.device_count() >= 1
torch.cuda.set_device(0)
device = torch.device("cuda", torch.cuda.current_device())
torch.cuda.manual_seed_all(1)
state = torch.cuda.get_rng_state_all()
torch.cuda.reset_peak_memory_stats()
model, optimizer = build()
model.cuda()
scaler = torch.amp.GradScaler("cuda", init_scale=2.0**8)
copies = torch.cuda.Stream()
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
start.record()
for x, y in loader(pin_memory=True):
    with torch.cuda.stream(copies):
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
    torch.cuda.current_stream().wait_stream(copies)
    x.record_stream(torch.cuda.current_stream())
    with torch.autocast("cuda", dtype=torch.float16):
        loss = F.cross_entropy(model(x).float(), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    losses.append(loss.item())
end.record()
torch.cuda.synchronize()
assert start.elapsed_time(end) > 0
assert torch.cuda.max_memory_allocated() >= torch.cuda.memory_allocated() > 0
assert sum(torch.cuda.mem_get_info()) > 0 and torch.cuda.get_device_name(0)
torch.cuda.set_rng_state_all(state)
noise = torch.randn(3, device="cuda")
torch.cuda.set_rng_state_all(state)
assert torch.equal(noise, torch.randn(3, device="cuda:0"))
torch.cuda.empty_cache()
"""

ACCELERATOR = """
device = torch.accelerator.current_accelerator()
torch.accelerator.set_device_index(0)
module = torch.get_device_module(device)
model, optimizer = build()
model.to(device)
copies = torch.Stream(device)
done = torch.Event(device, enable_timing=True)
for x, y in loader(pin_memory=True):
    with copies:
        x, y = (t.to(device, non_blocking=True) for t in (x, y))
    torch.accelerator.current_stream().wait_stream(copies)
    with torch.autocast(device.type):
        loss = F.cross_entropy(model(x).float(), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
done.record()
torch.accelerator.synchronize()
assert done.query()
assert torch.accelerator.memory_allocated() > 0
assert torch.accelerator.memory_stats()["allocated_bytes.all.peak"] > 0
module.set_rng_state(module.get_rng_state())
torch.accelerator.empty_cache()
"""

PLAIN = """
model, optimizer = build()
for x, y in loader():
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
"""


def build():
    torch.manual_seed(0)
    layers = torch.nn.Linear(FEATURES, HIDDEN), torch.nn.GELU(), torch.nn.Linear(HIDDEN, 3)
    model = torch.nn.Sequential(*layers)
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def loader(**options):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(ROWS, FEATURES, generator=generator)
    data = torch.utils.data.TensorDataset(x, (x.sum(1) > 0).long() + (x[:, 0] > 1).long())
    for _ in range(EPOCHS):
        yield from torch.utils.data.DataLoader(data, batch_size=BATCH, **options)


def losses_of(script):
    names = {"torch": torch, "F": torch.nn.functional, "losses": []}
    exec(script, {**names, "build": build, "loader": loader})
    return torch.tensor(names["losses"])


@pytest.mark.parametrize(
    ("script", "dtype"),
    [(CUDA.replace("cuda", "neuron"), torch.float16), (ACCELERATOR, torch.bfloat16)],
    ids=["cuda", "accelerator"],
)
def test_a_ported_script_learns_what_the_loop_learns_on_the_cpu(script, dtype):
    with torch_neuronx.no_fallback():
        got = losses_of(script)
    want = losses_of(PLAIN)
    # Inputs, weights and results of two layers are rounded, forward and backward; the momentum of
    # 0.9 sums a step's roundings up to ten times.
    bound = 10 * 2 * 2 * 3 * torch.finfo(dtype).eps
    torch.testing.assert_close(got, want, rtol=0, atol=bound)
    assert got[-1] < got[0]
