"""watch: statistics of a network while it trains, and where they go."""

from msjax.core.tools.watching.handle import Watch as Watch, watch as watch
from msjax.core.tools.watching.sinks import WatchRow as WatchRow
