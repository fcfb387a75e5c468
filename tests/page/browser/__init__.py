"""The page in a real browser: ``python -m tests.page.browser``."""
