"""Hugging Face's Trainer: a callback that opens a carrier or watcher around each micro batch.

    Trainer(..., callbacks=[Spillway(apply("plan.json"))])

The Trainer calls no callback after an exception: the context stays open until `carrier.end()`. Better is
`carrier.attach(model)`, or a subclass:

    class Spilled(Trainer):
        def training_step(self, *args, **kwargs):
            with self.carrier: return super().training_step(*args, **kwargs)
"""
import transformers


class Spillway(transformers.TrainerCallback):
    """`carrier`: of `apply` or `watch`. Logs, evaluation and saving lie outside."""

    def __init__(self, carrier):
        self.carrier = carrier

    def on_step_begin(self, *_, **__):
        self.carrier.begin()

    def on_substep_end(self, *_, **__):
        self.carrier.begin()  # the next micro batch of the same step; begin closes what is open

    def on_pre_optimizer_step(self, *_, **__):
        self.carrier.end()

    def on_step_end(self, *_, **__):
        self.carrier.end()

    def on_epoch_end(self, *_, **__):
        self.carrier.end()

    def on_train_end(self, *_, **__):
        self.carrier.end()
