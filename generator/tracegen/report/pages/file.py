"""The page of the file: what lies where in the file, which bytes of it were touched, what buffers held."""

from typing import Any

from tracegen.analysis import disk_waits
from tracegen.charts import theme
from tracegen.report.pages.collector import Collector
from tracegen.report.pages.explorers.memory_data import write_memory


def file(collector: Collector) -> dict[str, Any]:
    """The values of the template of the page; writes the data of its explorer."""
    return {
        "explorer": write_memory(collector),
        "waits": disk_waits.recorded(collector.tables),
        "state": {
            "data": "../data/",
            "groups": dict(theme.GROUP_OF),
            "colours": {n: v for n, (v, *_) in theme.GROUPS.items()},
        },
    }
