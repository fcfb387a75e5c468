"""MindSpore's logging."""

import msjax as ms
from msjax import log


def test_log(monkeypatch, caplog):
    monkeypatch.setenv("GLOG_v", "1")
    log.info("rows: %d", 3)
    log.debug("left out")
    log.error("wrong")
    assert [(r.levelname, r.getMessage(), r.filename) for r in caplog.records] == [
        ("INFO", "rows: 3", "test_log.py"),
        ("ERROR", "wrong", "test_log.py"),
    ]
    assert ms.get_log_config()["GLOG_v"] == "1"
