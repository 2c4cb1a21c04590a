"""A trainer of nnU-Net 2 that carries out a plan: of the file SPILLWAY_PLAN, or for the card size SPILLWAY_MEMORY.

nnU-Net finds it by its name in the folder nnUNet_extTrainer, for training and for prediction, and names results after it.
With SPILLWAY_RECORD it writes the recording of the step there instead. SPILLWAY_REPORT: the file of the carrier's report.
"""
import os

from nnunetv2.training.nnUNetTrainer.nnUNetTrainer import nnUNetTrainer

from spillway.torch import apply, auto, watch


class nnUNetTrainerSpillway(nnUNetTrainer):
    carrier = None

    def _do_i_compile(self):
        return False  # under a carrier a compiled network runs uncompiled

    def initialize(self):
        super().initialize()
        asked = {key: os.environ.get("SPILLWAY_" + key.upper()) for key in ("plan", "memory", "record")}
        if asked["record"]:
            self.carrier = watch(asked["record"]).attach(self.network)
        elif asked["plan"]:
            self.carrier = apply(asked["plan"], device=self.device).attach(self.network)
        elif asked["memory"]:
            self.carrier = auto(self.network, asked["memory"])

    def on_train_end(self):
        super().on_train_end()
        if self.carrier is not None:
            self.carrier.detach()
            if hasattr(self.carrier, "report"):
                self.print_to_log_file(self.carrier.report(os.environ.get("SPILLWAY_REPORT")))
