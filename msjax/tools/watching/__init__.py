"""watch: statistics of a network while it trains, and where they go."""

from msjax.tools.watching.handle import Watch as Watch, watch as watch
from msjax.tools.watching.sinks import WatchRow as WatchRow
