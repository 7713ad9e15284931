"""PyTorch's own operator tests, held against the device: `make contract`.

`torch.testing._internal` describes every operator with sample inputs that do not know a device.
Each sample runs on the CPU and on the device, and what PyTorch promises is compared. What is known
to differ is in `ledger.toml`. `run` is the runner; `test_contract_slice` runs a few operators.
"""
