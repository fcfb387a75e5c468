"""page: what the tools found, as a page to look at."""
