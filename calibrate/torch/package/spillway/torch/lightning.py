"""Lightning: a callback that opens a carrier or watcher before each training step and closes it after backward.

    Trainer(callbacks=[Spillway(apply("plan.json"))])

No LightningModule is edited. Logs and metrics between forward and backward are extra calls, and change nothing.
"""
import lightning


class Spillway(lightning.Callback):
    """`carrier`: of `apply` or `watch`. With accumulation each micro batch is a context."""

    def __init__(self, carrier):
        self.carrier = carrier

    def on_train_batch_start(self, *_):
        self.carrier.begin()

    def on_after_backward(self, *_):
        self.carrier.end()

    def on_train_batch_end(self, *_):
        self.carrier.end()  # training_step returned None: no backward came

    def on_exception(self, *_):
        self.carrier.end()

    def on_fit_end(self, *_):
        self.carrier.end()
