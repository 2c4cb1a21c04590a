"""Training loops as people have them, with a plan and without: final parameters and buffers are equal bit for bit.

    PYTHONPATH=FOLDER_OF_SPILLWAY_TORCH SPILLWAY=PROGRAM python3 tests/calibrate/carrier_frameworks.py [LOOP...]

torch_record_test.sh runs it where the packages are (calibrate/torch/environment.sh --loops): in the deep tier all loops and
ways, in the quick tier two loops with the package's adapter. A loop whose
package is absent is left out by name. Each is recorded once outside of the loop and planned for half of what its step
adds; then it trains plainly, under a plan that moves nothing, which counts, and under the plan: attached, and by the
package's adapter for its framework. nnU-Net is carrier_nnunet.py.
"""
import contextlib
import importlib
import io
import logging
import os
import sys
import tempfile
import warnings

import torch
from torch import nn
from torch.nn import functional as F

import spillway_torch
from carrier_zoo import Planned, peak_of

PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "calibrate", "torch", "package")
DEEP = "SPILLWAY_DEEP" in os.environ
SHARES = (0.5, 0.65, 0.8)  # of what a step adds; the first that some plan fits


def adapter(name):
    """A module of the package spillway.torch."""
    sys.path.append(PACKAGE)
    try:
        return importlib.import_module("spillway.torch." + name)
    finally:
        sys.path.remove(PACKAGE)


def convolutions(width=16, classes=10):
    return nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1),
        nn.BatchNorm2d(width), nn.GELU(), nn.Dropout(0.1), nn.Conv2d(width, width, 3, padding=1), nn.ReLU(inplace=True),
        nn.MaxPool2d(4), nn.Flatten(), nn.Linear(width * 64, classes))


def pictures(count=36, size=32):
    return torch.utils.data.TensorDataset(torch.randn(count, 3, size, size), torch.randint(0, 10, (count,)))


class Loop:
    """`network()` makes what is trained, `recorded(network)` is (forward, batch) of one step outside of the loop, and
    `train(network, carrier, how)` runs the loop. `how`: attach, or narrow or callback, as `HOWS` says."""

    HOWS = ("attach", "narrow")

    def network(self):
        return convolutions()

    def recorded(self, network):
        batch = [torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))]
        return lambda x, y: self.loss(network, x, y), batch

    def loss(self, network, x, y):
        return F.cross_entropy(network(x), y)

    def inner(self, network):
        """What is attached to."""
        return network


class Plain(Loop):
    """Autocast, a scaler, clipping, four micro batches a step; the last batch is smaller; a metric now and then."""

    def loss(self, network, x, y):
        with torch.autocast("cpu", torch.bfloat16):
            return F.cross_entropy(network(x).float(), y) / 4

    def train(self, network, carrier, how):
        optimizer, scaler = torch.optim.AdamW(network.parameters(), 1e-3), torch.amp.GradScaler("cpu")
        seen = []
        for step in range(12):
            x, y = torch.randn(5 if step == 9 else 8, 3, 32, 32), torch.randint(0, 10, (5 if step == 9 else 8,))
            with carrier if how == "narrow" else contextlib.nullcontext():
                loss = self.loss(network, x, y)
                scaler.scale(loss).backward()
            if step % 5 == 4:
                seen.append(loss.item())
            if step % 4 == 3:
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad(set_to_none=True)


class Lightning(Loop):
    """Automatic optimization, two micro batches a step, logs and an accuracy between forward and backward, validation."""

    HOWS = ("attach", "callback")

    def train(self, network, carrier, how):
        import lightning
        import torchmetrics
        logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.net, self.accuracy = network, torchmetrics.Accuracy(task="multiclass", num_classes=10)

            def training_step(self, batch, index):
                result = self.net(batch[0])
                loss = F.cross_entropy(result, batch[1])
                self.log("loss", loss, on_step=True, on_epoch=True)
                self.accuracy(result, batch[1])
                self.log("accuracy", self.accuracy, on_step=True, on_epoch=True)
                return None if index == 3 else {"loss": loss, "result": result}

            def validation_step(self, batch, _):
                self.log("validation", F.cross_entropy(self.net(batch[0]), batch[1]))

            def configure_optimizers(self):
                return torch.optim.AdamW(self.parameters(), 1e-3)

        data = pictures()
        trainer = lightning.Trainer(
            max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
            enable_model_summary=False, accumulate_grad_batches=2, gradient_clip_val=1.0, num_sanity_val_steps=1,
            callbacks=[adapter("lightning").Spillway(carrier)] if how == "callback" else [])
        trainer.fit(Module(), torch.utils.data.DataLoader(data, 8), torch.utils.data.DataLoader(data, 16))


class Transformers(Loop):
    """Trainer with GPT-2: two micro batches a step, evaluation, saving, a rest at the end of the epoch."""

    HOWS = ("attach", "subclass", "callback")

    def network(self):
        from transformers import GPT2Config, GPT2LMHeadModel
        return GPT2LMHeadModel(GPT2Config(n_layer=3, n_embd=64, n_head=4, vocab_size=200, n_positions=64, use_cache=False))

    def recorded(self, network):
        words = torch.randint(0, 200, (8, 64))
        return (lambda x, mask, y: network(input_ids=x, attention_mask=mask, labels=y).loss / 2,
                [words, torch.ones_like(words), words.clone()])

    def train(self, network, carrier, how):
        import transformers
        transformers.logging.set_verbosity_error()

        class Carried(transformers.Trainer):
            def training_step(self, *args, **kwargs):
                with carrier:
                    return super().training_step(*args, **kwargs)

        words = torch.randint(0, 200, (40, 64))
        data = [{"input_ids": each, "attention_mask": torch.ones_like(each), "labels": each.clone()} for each in words]
        with tempfile.TemporaryDirectory() as folder:
            arguments = transformers.TrainingArguments(
                folder, num_train_epochs=2, per_device_train_batch_size=8, gradient_accumulation_steps=2, logging_steps=3,
                eval_strategy="steps", eval_steps=2, save_strategy="steps", save_steps=3, use_cpu=True, report_to=[],
                disable_tqdm=True)
            make = Carried if how == "subclass" else transformers.Trainer
            make(model=network, args=arguments, train_dataset=data, eval_dataset=data[:8],
                 callbacks=[adapter("transformers").Spillway(carrier)] if how == "callback" else []).train()


class Accelerate(Loop):
    """Mixed precision, accumulation, clipping through the accelerator."""

    def loss(self, network, x, y):
        with torch.autocast("cpu", torch.bfloat16):
            return F.cross_entropy(network(x), y) / 2

    def train(self, network, carrier, how):
        from accelerate import Accelerator
        from accelerate.state import AcceleratorState
        AcceleratorState._reset_state(True)
        accelerator = Accelerator(cpu=True, mixed_precision="bf16", gradient_accumulation_steps=2)
        prepared, optimizer, batches = accelerator.prepare(
            network, torch.optim.AdamW(network.parameters(), 1e-3), torch.utils.data.DataLoader(pictures(), 8))
        for _ in range(2):
            for x, y in batches:
                with accelerator.accumulate(prepared):
                    with carrier if how == "narrow" else contextlib.nullcontext():
                        with accelerator.autocast():
                            loss = F.cross_entropy(prepared(x), y)
                        accelerator.backward(loss)
                    if accelerator.sync_gradients:
                        accelerator.clip_grad_norm_(prepared.parameters(), 1.0)
                    optimizer.step()
                    optimizer.zero_grad()
        accelerator.unwrap_model(prepared)


class Monai(Loop):
    """SupervisedTrainer with a validation handler; gradients are zeroed, not dropped; the last batch is of one sample."""

    HOWS = ("attach", "callback")

    def network(self):
        from monai.networks.nets import UNet
        return UNet(3, 1, 2, (8, 16, 32), (2, 2), num_res_units=1, norm="batch", dropout=0.1)

    def recorded(self, network):
        from monai.losses import DiceCELoss
        loss = DiceCELoss(to_onehot_y=True, softmax=True)
        batch = [torch.randn(2, 1, 24, 24, 24), (torch.rand(2, 1, 24, 24, 24) > 0.7).float()]
        return lambda x, y: loss(network(x), y).mean(), batch

    def train(self, network, carrier, how):
        import monai
        from monai.engines import SupervisedEvaluator, SupervisedTrainer
        from monai.handlers import ValidationHandler
        logging.disable(logging.CRITICAL)
        cases = [{"image": monai.data.MetaTensor(torch.randn(1, 24, 24, 24)),
                  "label": monai.data.MetaTensor((torch.rand(1, 24, 24, 24) > 0.7).float())} for _ in range(7)]
        data = monai.data.DataLoader(monai.data.Dataset(cases), batch_size=2)
        evaluator = SupervisedEvaluator("cpu", monai.data.DataLoader(monai.data.Dataset(cases[:2]), batch_size=1), network)
        trainer = SupervisedTrainer("cpu", 2, data, network, torch.optim.Adam(network.parameters(), 1e-3),
                                    monai.losses.DiceCELoss(to_onehot_y=True, softmax=True),
                                    train_handlers=[ValidationHandler(1, evaluator)])

        if how == "callback":
            adapter("monai").spill(trainer, carrier)
        trainer.run()


class Timm(Loop):
    """Mixup, channels last, drop path, an average of the weights; one call scales, runs backward, clips and steps."""

    HOWS = ("attach", "wide")

    def network(self):
        import timm
        return timm.create_model("convnext_atto", num_classes=10, drop_path_rate=0.2, depths=(1, 1, 2, 1),
                                 dims=(16, 32, 64, 128)).to(memory_format=torch.channels_last)

    def recorded(self, network):
        from timm.loss import SoftTargetCrossEntropy
        loss = SoftTargetCrossEntropy()

        def forward(x, y):
            with torch.autocast("cpu", torch.bfloat16):
                return loss(network(x), y)

        x = torch.randn(4, 3, 96, 96).contiguous(memory_format=torch.channels_last)
        return forward, [x, torch.softmax(torch.randn(4, 10), 1)]

    def train(self, network, carrier, how):
        import numpy
        from timm.data import Mixup
        from timm.loss import SoftTargetCrossEntropy
        from timm.optim import create_optimizer_v2
        from timm.utils import ModelEmaV3, NativeScaler
        numpy.random.seed(1)
        mixup, loss_of, scaler = Mixup(0.8, 1.0, num_classes=10), SoftTargetCrossEntropy(), NativeScaler(device="cpu")
        optimizer, average = create_optimizer_v2(network, "adamw", lr=1e-3), ModelEmaV3(network, decay=0.99)
        for epoch in range(2):
            for step in range(4):
                x, y = mixup(torch.randn(4, 3, 96, 96), torch.randint(0, 10, (4,)))
                x = x.contiguous(memory_format=torch.channels_last)
                with carrier if how == "wide" else contextlib.nullcontext():
                    with torch.autocast("cpu", torch.bfloat16):
                        loss = loss_of(network(x), y)
                    scaler(loss, optimizer, clip_grad=1.0, parameters=network.parameters(), need_update=True)
                optimizer.zero_grad()
                average.update(network, step=step)
            network.eval()
            with torch.inference_mode():
                network(x)
            network.train()


LOOPS = {"plain": Plain, "Lightning": Lightning, "Transformers Trainer": Transformers, "accelerate": Accelerate,
         "MONAI": Monai, "timm": Timm}


class Recorded:
    """The step of a loop, outside of it."""

    def __init__(self, loop):
        torch.manual_seed(1)
        network = loop.network().train()
        self.forward, self.batch = loop.recorded(network)
        self.optimizer = torch.optim.AdamW(network.parameters(), 1e-3)

    def update(self):
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


def trained(loop, carrier=None, how=None):
    """Parameters and buffers at the end."""
    torch.manual_seed(1)
    network = loop.network().train()
    torch.manual_seed(3)
    if how == "attach":
        carrier.attach(loop.inner(network))
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            loop.train(network, carrier, how)
    finally:
        if carrier is not None:
            carrier.detach()
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None
    return [value.detach().clone() for value in network.state_dict().values()]


def same(a, b):
    return len(a) == len(b) and all(torch.equal(x, y) for x, y in zip(a, b))


def fitting(planned):
    for share in SHARES:
        plan, why = planned.for_share(share, 1.0)
        if plan is not None:
            return plan, share
    raise RuntimeError("no plan: %s" % why)


def count(contexts, key):
    """How often each number came, in the order of contexts, without repetitions."""
    return ",".join(str(n) for n in dict.fromkeys(context[key] for context in contexts))


def rows_of(name, wrong):
    loop = LOOPS[name]()
    with tempfile.TemporaryDirectory() as folder:
        planned = Planned(Recorded(loop), name, folder)
        plan, share = fitting(planned)
    plain = trained(loop)
    for how in loop.HOWS if DEEP else loop.HOWS[-1:]:
        counting = spillway_torch.apply(planned.whole, device="cpu", count=True)
        if not same(trained(loop, counting, how), plain):
            wrong.append("%s, %s: differs under a plan that moves nothing" % (name, how))
        carrier = spillway_torch.apply(plan, device="cpu", count=True)
        if not same(trained(loop, carrier, how), plain):
            wrong.append("%s, %s: other numbers than plain training" % (name, how))
        contexts = carrier.account.contexts
        lost = sum(context["lost_at"] is not None for context in contexts)
        print("| %s, %s | %d | %s | %s | %d | %.2f | %.2f | %.2f |" % (
            name, how, len(contexts), count(contexts, "extra"), count(contexts, "missing"), lost,
            peak_of(counting) / 1e6, peak_of(carrier) / 1e6, (plan["capacity_bytes"] - planned.beside) / 1e6), flush=True)
        for text in carrier.account.said:
            print("said: %s" % text)
        if peak_of(carrier) >= peak_of(counting):
            wrong.append("%s, %s: the plan saves nothing" % (name, how))


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    print("| loop | contexts | extra calls | missing | lost | counted plain, MB | planned, MB | cap less states, MB |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    wrong = []
    for name in sys.argv[1:] or LOOPS:
        try:
            rows_of(name, wrong)
        except ImportError as error:
            print("left out: %s: %s" % (name, error))
        except Exception as error:
            import traceback
            traceback.print_exc()
            wrong.append("%s: %s: %s" % (name, type(error).__name__, error))
    for mistake in wrong:
        print("FAILED: %s" % mistake)
    print("failed" if wrong else "passed")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
