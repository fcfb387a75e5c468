"""Tools that show networks, and that find what is wrong with them: NaN, a wrong port, gradients that explode."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use

if TYPE_CHECKING:
    from msjax.bridge.anomaly import detect_anomaly as detect_anomaly
    from msjax.core.tools.checks.asserting import check as check
    from msjax.core.tools.comparing import Comparison as Comparison, compare as compare
    from msjax.core.tools.describing import hooks_of as hooks_of
    from msjax.core.tools.display import tree as tree
    from msjax.core.tools.fault import Fault as Fault, Statistics as Statistics
    from msjax.core.tools.guarding.bundles import replay as replay
    from msjax.core.tools.guarding.guards import guard as guard
    from msjax.core.tools.nan_search import find_nan as find_nan
    from msjax.core.tools.paging import page as page
    from msjax.core.tools.recording import Record as Record, record as record
    from msjax.core.tools.summarize import Summary as Summary, SummaryRow as SummaryRow, summary as summary
    from msjax.core.tools.watching import Watch as Watch, rules as rules, watch as watch
    from msjax.core.tools.watching.sinks import WatchRow as WatchRow
else:
    __getattr__, __dir__ = on_first_use(__name__, None)
