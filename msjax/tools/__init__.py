"""Tools that show networks, and that find what is wrong with them: NaN, a wrong port, gradients that explode."""

from typing import TYPE_CHECKING

from msjax.base.lazy import on_first_use

if TYPE_CHECKING:
    from msjax.autograd.monitor import detect_anomaly as detect_anomaly
    from msjax.tools.checks.asserting import check as check
    from msjax.tools.comparing import compare as compare
    from msjax.tools.comparison import Comparison as Comparison
    from msjax.tools.describing import hooks_of as hooks_of
    from msjax.tools.display import tree as tree
    from msjax.tools.fault import Fault as Fault, Statistics as Statistics
    from msjax.tools.guarding.guards import guard as guard
    from msjax.tools.guarding.replaying import replay as replay
    from msjax.tools.nan_search import find_nan as find_nan
    from msjax.tools.recording import Record as Record, record as record
    from msjax.tools.summarize import Summary as Summary, SummaryRow as SummaryRow, summary as summary
    from msjax.tools.watching import Watch as Watch, rules as rules, watch as watch
    from msjax.tools.watching.sinks import WatchRow as WatchRow
else:
    __getattr__, __dir__ = on_first_use(__name__, None)
