"""nnU-Net 2 trained by its own command, with a plan and without: final parameters and buffers are equal bit for bit.

    PYTHONPATH=FOLDER_OF_SPILLWAY_TORCH SPILLWAY=PROGRAM python3 tests/calibrate/carrier_nnunet.py

Deep tier: torch_record_test.sh runs it where nnunetv2 is (calibrate/torch/environment.sh --loops); skipped elsewhere. It
makes six small volumes, lets nnU-Net plan and preprocess them, and adds a small configuration to its plans, as its page on
plans files says (inherits_from). nnUNetv2_train runs with a trainer that lies outside of the package (nnUNet_extTrainer):
plain, after a step was recorded in its place; with the plan attached by the package's trainer; and around the whole train_step.
"""
import copy
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time

SHARES = (0.5, 0.65, 0.8)
STEPS = 3  # a training step of an epoch; two epochs
PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "calibrate", "torch", "package")
LIMIT = 170  # seconds of a command

TRAINER = '''
import contextlib, json, os, random, sys
import numpy, torch
import spillway_torch

HOW, FOLDER = os.environ["CARRIER_HOW"], os.environ["CARRIER_FOLDER"]
if HOW == "attach":
    os.environ["SPILLWAY_PLAN"] = os.path.join(FOLDER, "plan.json")
sys.modules["spillway.torch"] = spillway_torch  # which it is a copy of
sys.path += [%r, os.path.join(%r, "spillway", "torch", "nnunet_trainers")]
from nnUNetTrainerSpillway import nnUNetTrainerSpillway


class nnUNetTrainerCarried(nnUNetTrainerSpillway):
    def initialize(self):
        torch.set_num_threads(1)  # the command takes all processors of the machine, which are fewer where it is shared
        torch.manual_seed(5)
        super().initialize()
        self.num_epochs, self.num_iterations_per_epoch, self.num_val_iterations_per_epoch = 2, %d, 1
        if HOW == "wide":
            self.carrier = spillway_torch.apply(os.path.join(FOLDER, "plan.json"), device="cpu", count=True)
        if HOW == "attach":
            self.carrier.account.count = True

    def on_train_start(self):
        super().on_train_start()
        random.seed(3), numpy.random.seed(3), torch.manual_seed(3)

    def train_step(self, batch):
        if HOW == "plain" and not os.path.exists(os.path.join(FOLDER, "step.json")):
            self.record(batch)  # which leaves no trace: training goes on from here
        with self.carrier if HOW == "wide" else contextlib.nullcontext():
            return super().train_step(batch)

    def record(self, batch):
        target = batch["target"] if isinstance(batch["target"], list) else [batch["target"]]

        def update():
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            self.output = None

        def forward(data, *target):
            self.output = self.network(data)  # train_step holds it through backward
            return self.loss(self.output, list(target) if len(target) > 1 else target[0])

        step = spillway_torch.record(forward, [batch["data"], *target], update, how="run", repetitions=3, name="nnU-Net",
                                     model=self.network, optimizer=self.optimizer)
        with open(os.path.join(FOLDER, "step.json"), "w") as file:
            json.dump(step, file)

    def perform_actual_validation(self, *_, **__):
        pass

    def on_train_end(self):
        if self.carrier is not None:
            self.carrier.detach()
            with open(os.path.join(FOLDER, HOW + ".report"), "w") as file:
                json.dump(self.carrier.account.dict(), file)
        super().on_train_end()
        torch.save(self.network.state_dict(), os.path.join(FOLDER, HOW + ".pt"))
''' % (PACKAGE, PACKAGE, STEPS)


def volumes(folder):
    import numpy
    import SimpleITK
    draw = numpy.random.default_rng(0)
    for part in ("imagesTr", "labelsTr"):
        os.makedirs(os.path.join(folder, part))
    for case in range(6):
        image, label = draw.normal(size=(40, 44, 42 + case)).astype("float32"), numpy.zeros((40, 44, 42 + case), "uint8")
        corner = [draw.integers(4, size - 20) for size in label.shape]
        inside = tuple(slice(at, at + 14) for at in corner)
        label[inside] = 1
        image[inside] += 2
        for part, name, content in (("imagesTr", "c%d_0000", image), ("labelsTr", "c%d", label)):
            SimpleITK.WriteImage(SimpleITK.GetImageFromArray(content), os.path.join(folder, part, name % case + ".nii.gz"))
    about = {"channel_names": {"0": "CT"}, "labels": {"background": 0, "blob": 1}, "numTraining": 6, "file_ending": ".nii.gz"}
    with open(os.path.join(folder, "dataset.json"), "w") as file:
        json.dump(about, file)


class Command:
    """nnU-Net's commands on the data of a folder."""

    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "nnUNetTrainerCarried.py"), "w") as file:
            file.write(TRAINER)
        places = {name: os.path.join(folder, name) for name in ("nnUNet_raw", "nnUNet_preprocessed", "nnUNet_results")}
        self.environment = dict(os.environ, PYTHONWARNINGS="ignore", nnUNet_extTrainer=folder, nnUNet_n_proc_DA="0",
                                nnUNet_compile="f", OMP_NUM_THREADS="1", CARRIER_FOLDER=folder, **places)
        volumes(os.path.join(folder, "nnUNet_raw", "Dataset901_Small"))
        self.run("nnUNetv2_plan_and_preprocess", "-d", "901", "-c", "3d_fullres", "-np", "1", "-npfp", "1",
                 nnUNet_n_proc_DA="1")  # which sets threads by it
        self.add_configuration(os.path.join(folder, "nnUNet_preprocessed", "Dataset901_Small", "nnUNetPlans.json"))

    def add_configuration(self, file):
        """Three levels of few channels, and small patches, so that a step takes less than a second."""
        with open(file) as text:
            plans = json.load(text)
        architecture = copy.deepcopy(plans["configurations"]["3d_fullres"]["architecture"])
        kwargs = architecture["arch_kwargs"]
        kwargs.update(n_stages=3, features_per_stage=[8, 16, 32])
        for key, length in (("kernel_sizes", 3), ("strides", 3), ("n_conv_per_stage", 3), ("n_conv_per_stage_decoder", 2)):
            kwargs[key] = kwargs[key][:length]
        plans["configurations"]["3d_small"] = {"inherits_from": "3d_fullres", "patch_size": [32, 32, 32], "batch_size": 2,
                                               "architecture": architecture}
        with open(file, "w") as text:
            json.dump(plans, text)

    def run(self, name, *words, **more):
        command = [os.path.join(os.path.dirname(sys.executable), name), *words]
        begun = time.time()
        done = subprocess.run(command, env=dict(self.environment, **more), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=LIMIT)
        print("%s: %.0f s" % (" ".join([name, more.get("CARRIER_HOW", "")]).strip(), time.time() - begun), flush=True)
        if done.returncode:
            raise RuntimeError("%s: exit status %d:\n%s" % (name, done.returncode, done.stdout[-3000:]))

    def train(self, how):
        self.run("nnUNetv2_train", "901", "3d_small", "0", "-tr", "nnUNetTrainerCarried", "-device", "cpu", CARRIER_HOW=how)

    def state(self, how):
        import torch
        return torch.load(os.path.join(self.folder, how + ".pt"))

    def report(self, how):
        with open(os.path.join(self.folder, how + ".report")) as file:
            return json.load(file)


def plan(folder):
    from carrier_zoo import Asked
    asked = Asked(os.path.join(folder, "step.json"))
    for share in SHARES:
        found, why = asked.for_share(share, 1.0)
        if found is not None:
            with open(os.path.join(folder, "plan.json"), "w") as file:
                json.dump(found, file)
            return found, asked
    raise RuntimeError(why)


def most(report):
    return max(context["counted_peak_bytes"] for context in report["contexts"])


def mistakes_of(contexts, equal, peak, cap):
    """The step that trains is the recorded one: each call is matched, and the peak is within the cap."""
    found = [] if equal else ["other numbers than plain training"]
    for key in ("extra", "missing"):
        if any(context[key] for context in contexts):
            found.append("%s calls" % key)
    if any(context["lost_at"] is not None for context in contexts):
        found.append("the step left the recording")
    return found + (["a peak of %d bytes, above the cap of %d" % (peak, cap)] if peak > cap else [])


def main():
    for package in ("nnunetv2", "SimpleITK"):
        if importlib.util.find_spec(package) is None:
            print("left out: nnU-Net: no package %s" % package)
            return 0
    import torch
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        command = Command(folder)
        command.train("plain")
        found, asked = plan(folder)
        plain, whole = command.state("plain"), asked.whole["peak_bytes"] - asked.beside
        for how in ("attach", "wide"):
            command.train(how)
            state, report = command.state(how), command.report(how)
            equal = state.keys() == plain.keys() and all(torch.equal(state[key], plain[key]) for key in plain)
            contexts = report["contexts"]
            print("| nnU-Net, %s | %d | %s | %s | %d | %.2f | %.2f | %.2f |" % (
                how, len(contexts), ",".join(str(n) for n in dict.fromkeys(c["extra"] for c in contexts)),
                ",".join(str(n) for n in dict.fromkeys(c["missing"] for c in contexts)),
                sum(c["lost_at"] is not None for c in contexts), whole / 1e6, most(report) / 1e6,
                (found["capacity_bytes"] - asked.beside) / 1e6))
            for text in report["said"]:
                print("said: %s" % text)
            for mistake in mistakes_of(contexts, equal, most(report), found["capacity_bytes"] - asked.beside):
                print("FAILED: nnU-Net, %s: %s" % (how, mistake))
                failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
