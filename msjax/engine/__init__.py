"""What runs Tensors and Cells: the tape, compiled programs, graph mode, pure functions of Cells, processes."""
