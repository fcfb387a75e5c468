"""A process of its own: contenders of another Python, or one contender's first call and memory.

python -m tests.bench.child serve                     answers requests, a line of JSON each
python -m tests.bench.child once CASE NAME [FOLDER]   prints {"first": seconds, "memory": MiB}; msjax keeps programs in the folder
"""

import json
import os
import resource
import sys
import time


def maker(contender):
    """The function make(case, contender) of the framework that the contender's name begins with."""
    if contender.startswith("torch"):
        from tests.bench import torches

        return lambda *key: Plain(torches.make(*key))
    if contender.startswith("mindspore"):
        return mindspore_step
    from tests.bench import contenders

    return contenders.make


class Plain:
    """A contender whose step returns a loss that can be waited for by reading it."""

    def __init__(self, step, prepare=lambda: None):
        self.step = step
        self.prepare = prepare

    def losses(self, count):
        self.prepare()
        return [float(self.step()) for _ in range(count)]

    def time(self, steps):
        self.prepare()
        begin = time.perf_counter()
        for _ in range(steps):
            loss = self.step()
        float(loss)
        return (time.perf_counter() - begin) / steps


def mindspore_step(case, contender):
    """The step of the real MindSpore."""
    import mindspore as ms

    from tests.bench import cells
    from tests.bench.data import EVERY, batch, weight

    mode = ms.GRAPH_MODE if "graph" in contender else ms.PYNATIVE_MODE
    ms.set_context(mode=mode)
    net = cells.networks(ms)[EVERY[case][0]]()
    net.set_train()
    for name, parameter in net.parameters_and_names():
        parameter.set_data(ms.Tensor(weight(name, parameter.shape)))
    if contender.endswith("hooks"):
        for _, cell in cells.leaves(net):
            cells.hook(cell)
    inputs, labels = (ms.Tensor(a) for a in batch(case))
    step = cells.training_step(ms, net)
    return Plain(lambda: step(inputs, labels).asnumpy(), lambda: ms.set_context(mode=mode))


def serve(answers):
    """Answer requests [what, case, contender, number]; what is "losses" or "time"."""
    made = {}
    for line in sys.stdin:
        what, case, contender, number = json.loads(line)
        try:
            if (case, contender) not in made:
                made[case, contender] = maker(contender)(case, contender)
            answer = getattr(made[case, contender], what)(number)
        except Exception as error:
            first = (str(error).strip().splitlines() or [""])[0]
            answer = {"error": f"{type(error).__name__}: {first[:200]}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def once(case, contender, folder=""):
    """Seconds of building and the first step, and the most memory that the process had after five, in MiB."""
    if folder:
        import msjax as ms

        ms.set_context(enable_compile_cache=True, compile_cache_path=folder)
    make = maker(contender)
    built = make(case, contender)
    begin = time.perf_counter()
    built.time(1)
    first = time.perf_counter() - begin
    built.time(5)
    return {"first": first, "memory": most_memory()}


def most_memory():
    """The most memory that this process had, in MiB."""
    try:
        with open("/proc/self/status") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    except OSError:
        # Linux counts what the parent had before it started this process, too; others don't.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1024)


def main():
    # What libraries print goes to stderr; the answers have the stream for themselves.
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        if sys.argv[1] == "serve":
            serve(answers)
        else:
            answers.write(json.dumps(once(*sys.argv[2:])) + "\n")


if __name__ == "__main__":
    main()
