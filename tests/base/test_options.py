"""Options: what MindSpore has and msjax needs not is taken; a name that is misspelt is an error that says what was meant."""

import ast
from pathlib import Path

import numpy as np
import pytest

import msjax as ms
from msjax import amp, nn, profiler, runtime, train
from msjax.core.base.checks import check_options
from msjax.mint import distributed

PACKAGE = Path(ms.__file__).parent


def square(x):
    return x * x


def weight():
    return [ms.Parameter(ms.Tensor([1.0]), name="w")]


class Named(nn.Cell):
    def construct(self, data, label):
        return data + label


# function: (known options, a misspelt one, what is meant, error)
OPTIONS = {
    "jit": (lambda **o: ms.jit(square, **o), {"jit_level": "O1", "backend": "GE", "exc_mode": "auto"}, "full_graph", "fullgraph", TypeError),
    "jit as a decorator": (lambda **o: ms.jit(**o)(square), {"capture_mode": "bytecode"}, "capture_mod", "capture_mode", TypeError),
    "ms_function": (lambda **o: ms.ms_function(square, **o), {"hash_args": 1}, "jit_levle", "jit_level", TypeError),
    "set_context": (ms.set_context, {"debug_level": 0, "aoe_config": {}}, "save_graph", "save_graphs", ValueError),
    "set_auto_parallel_context": (
        ms.set_auto_parallel_context,
        {"auto_pipeline": False},
        "gradient_mean",
        "gradients_mean",
        ValueError,
    ),
    "recompute": (lambda **o: nn.ReLU().recompute(**o), {"mp_comm_recompute": True}, "mp_com_recompute", "mp_comm_recompute", TypeError),
    "set_inputs": (lambda **o: Named().set_inputs(**o), {"data": None}, "lable", "label", TypeError),
    "Adam": (lambda **o: nn.Adam(weight(), **o), {"use_lazy": True}, "use_lasy", "use_lazy", KeyError),
    "build_train_network": (
        lambda **o: amp.build_train_network(nn.ReLU(), nn.SGD(weight()), nn.MSELoss(), **o),
        {"keep_batchnorm_fp32": True},
        "keep_batchnorm32",
        "keep_batchnorm_fp32",
        ValueError,
    ),
    "Model": (lambda **o: train.Model(nn.ReLU(), **o), {"loss_scale_manager": None}, "los_scale_manager", "loss_scale_manager", ValueError),
    "Profiler": (lambda **o: profiler.Profiler(start_profile=False, **o), {"with_stack": True}, "with_stacks", "with_stack", TypeError),
    "profile": (profiler.profile, {"record_shapes": True}, "record_shape", "record_shapes", TypeError),
    "set_memory": (runtime.set_memory, {"max_size": "2GB"}, "maxsize", "max_size", TypeError),
    "set_cpu_affinity": (
        lambda **o: runtime.set_cpu_affinity(True, **o), {"bind_file": None}, "bindfile", "bind_file", TypeError,
    ),
}  # fmt: skip


@pytest.mark.parametrize("function", OPTIONS)
def test_known_options_are_taken_and_misspelt_ones_are_not(function):
    call, known, misspelt, meant, error = OPTIONS[function]
    call(**known)
    with pytest.raises(error, match=rf"there is no \w+ '{misspelt}'; did you mean '{meant}'"):
        call(**{misspelt: 1})
    ms.set_context(save_graphs=False)
    with pytest.raises(error, match=r"there is no \w+ 'zzz'; there are "):
        call(zzz=1)


def test_nothing_is_set_if_a_name_is_misspelt():
    with pytest.raises(ValueError, match="no setting 'mod'"):
        ms.set_context(save_graphs=True, mod=1)
    assert ms.get_context("save_graphs") is False


@pytest.mark.parametrize(
    "call",
    [
        lambda: ms.Parameter(ms.Tensor(1.0), trainable=True),
        lambda: ms.Tensor(1.0).init_data(nonsense=1),
        lambda: weight()[0].init_data(nonsense=1),
        lambda: runtime.Stream(nonsense=1),
        lambda: profiler.tensorboard_trace_handler("folder", nonsense=1),
        lambda: profiler.Profiler(start_profile=False).analyse(nonsense=1),
        lambda: distributed.new_group(nonsense=1),
        lambda: runtime.dispatch_threads_num(),
        lambda: runtime.empty_cache(1),
        lambda: ms.Tensor(np.ones((2, 2), np.float32)).index_add(0, ms.Tensor([0]), ms.Tensor([[1.0, 1.0]]), nonsense=1),
    ],
)
def test_functions_of_fixed_parameters_take_no_others(call):
    with pytest.raises(TypeError, match=r"argument"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda path: ms.export(nn.ReLU(), ms.Tensor([1.0]), file_name=path, enc_key=b"0" * 16),
        lambda path: ms.load(path, dec_key=b"0" * 16),
    ],
)
def test_encryption_is_refused_and_not_left_out(call, tmp_path):
    with pytest.raises(NotImplementedError, match="encrypted"):
        call(str(tmp_path / "net"))
    assert not list(tmp_path.iterdir())


def test_options_of_files(tmp_path):
    path = str(tmp_path / "net")
    with pytest.raises(TypeError, match=r"'export', there is no setting 'custom_fun'; did you mean 'custom_func'\?"):
        ms.export(nn.ReLU(), ms.Tensor([1.0]), file_name=path, custom_fun=None)
    with pytest.raises(TypeError, match=r"'load', there is no setting 'dec_mod'; did you mean 'dec_mode'\?"):
        ms.load(path, dec_mod="AES-GCM")
    with pytest.raises(TypeError, match=r"'save_checkpoint', there is no argument 'incremantal'; did you mean 'incremental'\?"):
        ms.save_checkpoint(nn.ReLU(), path, incremantal=True)


def test_several_names_may_be_near():
    check_options({"left": 1}, ("left", "right"), "f")
    with pytest.raises(TypeError, match=r"^For 'f', there is no option 'side1'; did you mean 'side' or 'side2'\?$"):
        check_options(["side1"], ("side2", "side", "top"), "f")
    with pytest.raises(ValueError, match=r"^For 'f', there is no key 3; there are a, b.$"):
        check_options([3], ("a", "b"), "f", what="key", error=ValueError)


# Functions that take what they don't read, and why.
_SWALLOW = {
    ("core/base/lazy.py", "__new__"),  # stands for a name that is not offered, and raises
    ("compat/api.py", "flops_collection"),  # raises
    ("common/initializers.py", "__init__"),  # subclasses written for MindSpore pass their own on
    ("nn/layer/basic.py", "__init__"),  # Identity replaces any other layer
    ("nn/cell/base.py", "construct"),  # what a Cell is called with
    ("parallel/layouts.py", "_without_effect"),  # settings of several processes, for which AutoParallel raises
    ("engine/programs/store.py", "_note"),  # jax passes what it monitors
    ("core/models/frameworks/linen.py", "new"),  # a class: __init__ reads them
}  # fmt: skip


def _only_types(node):
    """Whether a function is there for type checkers alone: an overload, or a method of a Protocol."""
    overload = any(isinstance(decorator, ast.Name) and decorator.id == "overload" for decorator in node.decorator_list)
    return overload or ast.unparse(node.body[-1]) == "..."


@pytest.mark.long
def test_no_function_swallows_keywords():
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.args.kwarg and not _only_types(node):
                names = {inner.id for statement in node.body for inner in ast.walk(statement) if isinstance(inner, ast.Name)}
                if node.args.kwarg.arg not in names:
                    found.add((str(path.relative_to(PACKAGE)), node.name))
    assert found == _SWALLOW
