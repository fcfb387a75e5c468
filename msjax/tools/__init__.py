"""Tools that show networks, and that find what is wrong with them: NaN, a wrong port, gradients that explode."""

from typing import TYPE_CHECKING

from msjax.lazy import lazy_names

_LATER = {
    "find_nan": "msjax.tools.nan_search",
    "guard": "msjax.tools.guards",
    "record": "msjax.tools.recording",
    "Record": "msjax.tools.recording",
    "compare": "msjax.tools.comparing",
    "Comparison": "msjax.tools.comparing",
    "watch": "msjax.tools.watching",
    "Watch": "msjax.tools.watching",
    "WatchRow": "msjax.tools.sinks",
    "detect_anomaly": "msjax.autograd.monitor",
    "Fault": "msjax.tools.fault",
    "Statistics": "msjax.tools.fault",
    "summary": "msjax.tools.summarize",
    "Summary": "msjax.tools.summarize",
    "SummaryRow": "msjax.tools.summarize",
    "hooks_of": "msjax.tools.describing",
    "tree": "msjax.tools.display",
}

__all__ = [*_LATER]
if TYPE_CHECKING:
    from msjax.autograd.monitor import detect_anomaly
    from msjax.tools.comparing import Comparison, compare
    from msjax.tools.describing import hooks_of
    from msjax.tools.display import tree
    from msjax.tools.fault import Fault, Statistics
    from msjax.tools.guards import guard
    from msjax.tools.nan_search import find_nan
    from msjax.tools.recording import Record, record
    from msjax.tools.sinks import WatchRow
    from msjax.tools.summarize import Summary, SummaryRow, summary
    from msjax.tools.watching import Watch, watch
else:
    __getattr__ = lazy_names(__name__, _LATER)
