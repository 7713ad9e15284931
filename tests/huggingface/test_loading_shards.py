"""transformers loads shards from several threads at once; the first of them opens the device."""

import os
import subprocess
import sys

import tiny

LOADS = 50
SECONDS = 240  # a load takes 0.1 s, the imports before them 10 s

LOAD_MANY_TIMES = """
import sys, torch, transformers
transformers.logging.disable_progress_bar()
folder, loads = sys.argv[1], int(sys.argv[2])
load = transformers.LlamaForCausalLM.from_pretrained
assert not torch.neuron.is_initialized()
model = load(folder, device_map="neuron")  # the first use of the device
want = load(folder).state_dict()
for i in range(loads):
    model = model if i == 0 else load(folder, device_map="neuron")
    for name, weight in model.state_dict().items():
        assert weight.device.type == "neuron"
        assert torch.equal(weight.cpu(), want[name]), f"load {i}: {name}"
print("loaded", loads)
"""


def test_many_loads_of_many_shards_neither_hang_nor_mix_weights(tmp_path):
    tiny.save("llama", tmp_path, max_shard_size="20KB")
    assert len(list(tmp_path.glob("*.safetensors"))) >= 5
    environment = {k: v for k, v in os.environ.items() if k != "HF_DEACTIVATE_ASYNC_LOAD"}
    command = [sys.executable, "-c", LOAD_MANY_TIMES, str(tmp_path), str(LOADS)]
    result = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=SECONDS
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == f"loaded {LOADS}"
