"""``run_check``."""

import msjax as ms


def test_run_check(capsys):
    ms.run_check()
    assert "is correct" in capsys.readouterr().out
