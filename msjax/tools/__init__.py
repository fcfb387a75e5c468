"""Tools that show networks, and that find what is wrong with them: NaN, a wrong port, gradients that explode."""

from typing import TYPE_CHECKING

from msjax.base.lazy import lazy_names

_LATER = {
    "find_nan": "msjax.tools.nan_search",
    "guard": "msjax.tools.guards",
    "record": "msjax.tools.recording",
    "Record": "msjax.tools.recording",
    "compare": "msjax.tools.comparing",
    "Comparison": "msjax.tools.comparison",
    "watch": "msjax.tools.watching",
    "Watch": "msjax.tools.watching",
    "WatchRow": "msjax.tools.watching",
    "detect_anomaly": "msjax.autograd.monitor",
    "Fault": "msjax.tools.fault",
    "Statistics": "msjax.tools.fault",
    "summary": "msjax.tools.summarize",
    "Summary": "msjax.tools.summarize",
    "SummaryRow": "msjax.tools.summarize",
    "hooks_of": "msjax.tools.describing",
    "tree": "msjax.tools.display",
}

if TYPE_CHECKING:
    from msjax.autograd.monitor import detect_anomaly as detect_anomaly
    from msjax.tools.comparing import compare as compare
    from msjax.tools.comparison import Comparison as Comparison
    from msjax.tools.describing import hooks_of as hooks_of
    from msjax.tools.display import tree as tree
    from msjax.tools.fault import Fault as Fault, Statistics as Statistics
    from msjax.tools.guards import guard as guard
    from msjax.tools.nan_search import find_nan as find_nan
    from msjax.tools.recording import Record as Record, record as record
    from msjax.tools.summarize import Summary as Summary, SummaryRow as SummaryRow, summary as summary
    from msjax.tools.watching import Watch as Watch, watch as watch
    from msjax.tools.watching.sinks import WatchRow as WatchRow
else:
    __all__ = [*_LATER]
    __getattr__ = lazy_names(__name__, _LATER)
