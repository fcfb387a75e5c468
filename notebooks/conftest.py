"""The marker of the tests that run notebooks; they are run by `pytest notebooks`, not with the others."""


def pytest_configure(config):
    config.addinivalue_line("markers", "notebooks: runs a notebook from top to bottom, in a process of its own")
