"""One table of tests: owner x way to run it x kind of hook; each combination is expected to do what the eager run does."""
