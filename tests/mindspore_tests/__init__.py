"""MindSpore's own tests, run on msjax from a checkout of its public test repository; nothing of them is kept here but which of them pass there."""
