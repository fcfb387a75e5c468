"""Checkpoints of sharded arrays."""

import jax
import jax.numpy as jnp
import pytest

from msjax import Tensor
from msjax.serialization import load_sharded, save_sharded


@pytest.mark.filterwarnings("ignore")
def test_sharded_checkpoints(tmp_path):
    pytest.importorskip("orbax.checkpoint")
    mesh = jax.make_mesh((2,), ("x",), devices=jax.devices()[:2])
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    tree = {"w": jax.device_put(jnp.arange(8.0), sharding), "b": Tensor([1.0, 2.0])}
    save_sharded(tmp_path / "c", tree)
    found = load_sharded(tmp_path / "c", like=tree)
    assert found["w"].sharding == sharding and found["w"].tolist() == list(range(8)) and found["b"].tolist() == [1.0, 2.0]
    assert load_sharded(tmp_path / "c")["w"].tolist() == list(range(8))
    with pytest.raises(ValueError):
        save_sharded(tmp_path / "c", tree)
    save_sharded(tmp_path / "c", {"w": jnp.zeros(2)}, overwrite=True)
    assert load_sharded(tmp_path / "c")["w"].tolist() == [0.0, 0.0]
