"""A process that draws charts: its engine takes half a second to start, and Python stands still while it draws."""

from tracegen.charts import engine
from tracegen.storing.worker import Worker


def process() -> Worker:
    """A process that draws. Raises EnvironmentFailure where it cannot be started, or the engine could not be."""
    engine.refuse_few_addresses()
    worker = Worker()
    worker.submit(engine.start)
    return worker
