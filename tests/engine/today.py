"""What differs from the eager run today: a line of kinds for each owner and way.

Every combination here is expected to fail, and a test fails when it doesn't: whoever mends one takes it off the list.
`python -m tests.engine --today` prints the list anew.
"""

_LINES = """
"""

# {(owner, way): kinds}
TODAY = {tuple(place.split()): kinds.split() for place, _, kinds in (line.partition(": ") for line in _LINES.split("\n")[1:-1])}
