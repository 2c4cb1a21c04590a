"""MONAI's SupervisedTrainer: handlers that open a carrier or watcher before an iteration and close it after backward.

    spill(trainer, apply("plan.json"))
"""
from ignite.engine import Events
from monai.engines.utils import IterationEvents


def spill(engine, carrier):
    """Adds the handlers to `engine`. `carrier`: of `apply` or `watch`. Returns it."""
    engine.add_event_handler(Events.ITERATION_STARTED, lambda _: carrier.begin())
    engine.add_event_handler(IterationEvents.BACKWARD_COMPLETED, lambda _: carrier.end())

    def failed(_, error):
        carrier.end()
        raise error  # ignite raises it only where nobody listens

    engine.add_event_handler(Events.EXCEPTION_RAISED, failed)
    return carrier
