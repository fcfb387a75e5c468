"""The page: one HTML file that shows runs, faults, comparisons and studies, and the data in it."""
