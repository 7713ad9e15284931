"""Lightning's Trainer and Fabric run on the device as on the CPU."""

import subprocess
import sys

import pytest
import torch
from roundings import close

import torch_neuronx

lightning = pytest.importorskip("lightning")
import torch_neuronx.lightning  # noqa: E402

FEATURES, HIDDEN, ROWS = 8, 16, 24
STEPS = ROWS // 4
TERMS = STEPS * 2 * (FEATURES + HIDDEN)
ON = {
    "cpu": {"accelerator": "cpu"},
    "neuron": {"accelerator": "neuron", "strategy": "neuron"},
}


class Regression(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(FEATURES, HIDDEN), torch.nn.GELU(), torch.nn.Linear(HIDDEN, 1)
        )
        self.losses, self.dtypes = [], set()

    def error(self, batch):
        (x,) = batch
        assert x.device == self.device
        y = self.model(x)
        self.dtypes.add(y.dtype)
        return (y - x.sum(1, keepdim=True)).float().square().mean()

    def training_step(self, batch, index):
        loss = self.error(batch)
        self.losses.append(loss.detach())
        self.log("training", loss)
        return loss

    def validation_step(self, batch, index):
        self.log("validation", self.error(batch))

    def test_step(self, batch, index):
        self.log("test", self.error(batch))

    def predict_step(self, batch, index):
        return self.model(batch[0])

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.01, momentum=0.9)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)]


def loader():
    x = torch.randn(ROWS, FEATURES, generator=torch.Generator().manual_seed(1))
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x), batch_size=4)


def trainer(folder, device, **options):
    return lightning.Trainer(
        **ON[device],
        default_root_dir=folder,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **{"max_epochs": 1, "enable_checkpointing": False, "gradient_clip_val": 5.0, **options},
    )


def everything(folder, device, **options):
    module = Regression()
    runs = trainer(folder, device, **options)
    runs.fit(module, loader(), loader())
    validation = runs.callback_metrics["validation"]
    (tested,) = runs.test(module, loader(), verbose=False)
    predicted = torch.cat(runs.predict(module, loader()))
    return module, [*module.losses, validation, tested["test"]], predicted


def test_fit_validate_test_and_predict(tmp_path):
    _, want, want_predicted = everything(tmp_path, "cpu")
    with torch_neuronx.no_fallback():
        _, got, predicted = everything(tmp_path, "neuron")
    assert {loss.device.type for loss in got[:STEPS]} == {"neuron"}
    for g, w in zip(got, want, strict=True):
        close(g, w, TERMS)
    close(predicted, want_predicted, TERMS)


def scaled_by(scale):
    scaler = torch.amp.GradScaler("neuron", init_scale=scale)
    return lightning.pytorch.plugins.MixedPrecision("16-mixed", "neuron", scaler)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_mixed_precision(tmp_path, dtype):
    """A scale of 1 overflows nowhere; with Lightning's, of 65536, float16 skips the first steps."""
    half = {"precision": "bf16-mixed"} if dtype is torch.bfloat16 else {"plugins": [scaled_by(1.0)]}
    _, want, _ = everything(tmp_path, "cpu", gradient_clip_val=None)
    with torch_neuronx.no_fallback():
        module, got, _ = everything(tmp_path, "neuron", gradient_clip_val=None, **half)
    assert module.dtypes == {dtype}
    for g, w in zip(got, want, strict=True):
        close(g, w, 2 * 3 * STEPS, dtype)  # three roundings a layer and step


def test_float16_has_a_scaler_of_the_device(tmp_path):
    runs = trainer(tmp_path, "neuron", precision="16-mixed", gradient_clip_val=None)
    with torch_neuronx.no_fallback():
        runs.fit(Regression(), loader())
    scaler = runs.strategy.precision_plugin.scaler
    assert scaler.is_enabled()
    assert scaler._scale.device.type == "neuron"


def test_a_checkpoint_continues_where_it_was_written(tmp_path):
    whole = Regression()
    trainer(tmp_path, "neuron", max_epochs=2).fit(whole, loader())
    first = trainer(tmp_path, "neuron")
    first.fit(Regression(), loader())
    first.save_checkpoint(tmp_path / "model.ckpt")
    rest = Regression()
    trainer(tmp_path, "neuron", max_epochs=2).fit(
        rest, loader(), ckpt_path=tmp_path / "model.ckpt", weights_only=False
    )
    assert torch.equal(torch.stack(rest.losses), torch.stack(whole.losses[STEPS:]))


def test_another_core_is_chosen_by_its_number(tmp_path):
    runs = trainer(tmp_path, "neuron", devices=[1], fast_dev_run=True)
    try:
        module = Regression()
        runs.fit(module, loader())
        assert module.losses[0].device == torch.device("neuron", 1)
    finally:
        torch.neuron.set_device(0)


def test_a_strategy_brings_its_accelerator(tmp_path):
    runs = lightning.Trainer(strategy=torch_neuronx.lightning.NeuronStrategy(), logger=False)
    assert runs.accelerator.name() == "neuron"
    assert runs.strategy.root_device.type == "neuron"


def test_what_is_not_possible_is_said():
    with pytest.raises(ValueError, match="asks for 2 neuron cores"):
        lightning.Trainer(**ON["neuron"], devices=2, logger=False)
    alone = lightning.Trainer(accelerator="neuron", logger=False, enable_checkpointing=False)
    with pytest.raises(ValueError, match="pass strategy='neuron' as well"):
        alone.fit(Regression(), loader())


def test_fabric(tmp_path):
    def losses(device):
        fabric = lightning.Fabric(**ON[device], precision="bf16-mixed" if device else None)
        fabric.launch()
        module = Regression().model
        model, optimizer = fabric.setup(module, torch.optim.SGD(module.parameters(), lr=0.01))
        found = []
        for (x,) in fabric.setup_dataloaders(loader()):
            loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
            fabric.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            found.append(loss.detach())
        return found

    want = losses("cpu")
    with torch_neuronx.no_fallback():
        got = losses("neuron")
    assert got[0].device.type == "neuron"
    for g, w in zip(got, want, strict=True):
        close(g, w, 2 * 3 * STEPS, torch.bfloat16)


def test_the_other_package_is_served_by_a_module_of_its_own():
    """In a process of its own: two Lightnings take two times as long to import."""
    pytest.importorskip("pytorch_lightning")
    code = """
import sys, torch
import torch_neuronx
assert "lightning" not in sys.modules and "pytorch_lightning" not in sys.modules
import torch_neuronx.pytorch_lightning, pytorch_lightning
assert "lightning" not in sys.modules
trainer = pytorch_lightning.Trainer(accelerator="neuron", strategy="neuron", logger=False)
print(trainer.strategy.root_device, type(trainer.accelerator).__mro__[1].__module__)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["neuron:0", "pytorch_lightning.accelerators.accelerator"]
