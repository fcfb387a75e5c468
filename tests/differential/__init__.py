"""Random networks with random hooks, run in every mode: the same outputs, gradients and hook calls are expected of all of them."""
