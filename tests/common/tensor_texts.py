"""Texts of Tensors, as MindSpore 2.10 prints them."""

import numpy as np

import msjax as ms
from msjax import Tensor

# How the Tensor is made, its str(), its repr().
PRINTED = [
    (
        lambda: Tensor(1),
        "1",
        "Tensor(shape=[], dtype=Int64, value= 1)",
    ),
    (
        lambda: Tensor(1.0),
        "1.0",
        "Tensor(shape=[], dtype=Float32, value= 1)",
    ),
    (
        lambda: Tensor(-0.0),
        "-0.0",
        "Tensor(shape=[], dtype=Float32, value= -0)",
    ),
    (
        lambda: Tensor(0.1),
        "0.1",
        "Tensor(shape=[], dtype=Float32, value= 0.1)",
    ),
    (
        lambda: Tensor(1e-9),
        "1e-09",
        "Tensor(shape=[], dtype=Float32, value= 1e-09)",
    ),
    (
        lambda: Tensor(1 / 3),
        "0.33333334",
        "Tensor(shape=[], dtype=Float32, value= 0.333333)",
    ),
    (
        lambda: Tensor(123456789.0),
        "123456790.0",
        "Tensor(shape=[], dtype=Float32, value= 1.23457e+08)",
    ),
    (
        lambda: Tensor(16777216.0),
        "16777216.0",
        "Tensor(shape=[], dtype=Float32, value= 1.67772e+07)",
    ),
    (
        lambda: Tensor(1e16),
        "1e+16",
        "Tensor(shape=[], dtype=Float32, value= 1e+16)",
    ),
    (
        lambda: Tensor(1 / 3, ms.float64),
        "0.3333333333333333",
        "Tensor(shape=[], dtype=Float64, value= 0.333333)",
    ),
    (
        lambda: Tensor(1 / 3, ms.float16),
        "0.3333",
        "Tensor(shape=[], dtype=Float16, value= 0.333252)",
    ),
    (
        lambda: Tensor(1e-7, ms.float16),
        "1e-07",
        "Tensor(shape=[], dtype=Float16, value= 1.19209e-07)",
    ),
    (
        lambda: Tensor(float("nan")),
        "nan",
        "Tensor(shape=[], dtype=Float32, value= nan)",
    ),
    (
        lambda: Tensor(float("-inf")),
        "-inf",
        "Tensor(shape=[], dtype=Float32, value= -inf)",
    ),
    (
        lambda: Tensor(True),
        "True",
        "Tensor(shape=[], dtype=Bool, value= True)",
    ),
    (
        lambda: Tensor(200, ms.uint8),
        "200",
        "Tensor(shape=[], dtype=UInt8, value= 200)",
    ),
    (
        lambda: Tensor(1 + 2j),
        "(1+2j)",
        "Tensor(shape=[], dtype=Complex128, value= 1+2j)",
    ),
    (
        lambda: Tensor([]),
        "[]",
        "Tensor(shape=[0], dtype=Float32, value= )",
    ),
    (
        lambda: Tensor(np.zeros((2, 0), np.float32)),
        "[]",
        ("Tensor(shape=[2, 0], dtype=Float32, value=\n)"),
    ),
    (
        lambda: Tensor([1, 22, -333]),
        "[   1   22 -333]",
        "Tensor(shape=[3], dtype=Int64, value= [   1,   22, -333])",
    ),
    (
        lambda: Tensor([1.0, -2.5]),
        "[ 1.  -2.5]",
        "Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00, -2.50000000e+00])",
    ),
    (
        lambda: Tensor([0.1, 1e10, 1e-10]),
        "[1.e-01 1.e+10 1.e-10]",
        "Tensor(shape=[3], dtype=Float32, value= [ 1.00000001e-01,  1.00000000e+10,  1.00000001e-10])",
    ),
    (
        lambda: Tensor([1e8, 1.0]),
        "[1.e+08 1.e+00]",
        "Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+08,  1.00000000e+00])",
    ),
    (
        lambda: Tensor([float("nan"), float("inf"), -1.0]),
        "[nan inf -1.]",
        "Tensor(shape=[3], dtype=Float32, value= [            nan,             inf, -1.00000000e+00])",
    ),
    (
        lambda: Tensor([1.0, 2.0], ms.float16),
        "[1. 2.]",
        "Tensor(shape=[2], dtype=Float16, value= [ 1.0000e+00,  2.0000e+00])",
    ),
    (
        lambda: Tensor([1.0, 2.0], ms.float64),
        "[1. 2.]",
        "Tensor(shape=[2], dtype=Float64, value= [ 1.00000000e+00,  2.00000000e+00])",
    ),
    (
        lambda: Tensor([True, False]),
        "[ True False]",
        "Tensor(shape=[2], dtype=Bool, value= [ True, False])",
    ),
    (
        lambda: Tensor([1 + 2j, 3.5 - 1j]),
        "[1. +2.j 3.5-1.j]",
        "Tensor(shape=[2], dtype=Complex128, value= [1+2j, 3.5-1j])",
    ),
    (
        lambda: Tensor([[1, 22], [333, 4]]),
        ("[[  1  22]\n [333   4]]"),
        ("Tensor(shape=[2, 2], dtype=Int64, value=\n[[  1,  22],\n [333,   4]])"),
    ),
    (
        lambda: Tensor([[1.5, 2.0], [-3.0, 4.0]]),
        ("[[ 1.5  2. ]\n [-3.   4. ]]"),
        (
            "Tensor(shape=[2, 2], dtype=Float32, value=\n"
            "[[ 1.50000000e+00,  2.00000000e+00],\n"
            " [-3.00000000e+00,  4.00000000e+00]])"
        ),
    ),
    (
        lambda: Tensor([[True], [False]]),
        ("[[ True]\n [False]]"),
        ("Tensor(shape=[2, 1], dtype=Bool, value=\n[[ True],\n [False]])"),
    ),
    (
        lambda: Tensor(np.arange(8).reshape(2, 2, 2), ms.int32),
        ("[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]"),
        ("Tensor(shape=[2, 2, 2], dtype=Int32, value=\n[[[0, 1],\n  [2, 3]],\n [[4, 5],\n  [6, 7]]])"),
    ),
    (
        lambda: Tensor(np.arange(8).reshape(2, 2, 2), ms.float32),
        ("[[[0. 1.]\n  [2. 3.]]\n\n [[4. 5.]\n  [6. 7.]]]"),
        (
            "Tensor(shape=[2, 2, 2], dtype=Float32, value=\n"
            "[[[ 0.00000000e+00,  1.00000000e+00],\n"
            "  [ 2.00000000e+00,  3.00000000e+00]],\n"
            " [[ 4.00000000e+00,  5.00000000e+00],\n"
            "  [ 6.00000000e+00,  7.00000000e+00]]])"
        ),
    ),
    (
        lambda: Tensor(np.arange(13), ms.float32),
        "[ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12.]",
        (
            "Tensor(shape=[13], dtype=Float32, value= [ 0.00000000e+00,  1.00000000e+00,  2.00000000e+00,  3.00000000e+00,  4.00000000e+00,  5.00000000e+00,  6.00000000e+00,  7.00000000e+00,  8.00000000e+00,  9.00000000e+00,  1.00000000e+01,  1.10000000e+01, \n"
            "  1.20000000e+01])"
        ),
    ),
    (
        lambda: Tensor(np.arange(12), ms.float32),
        "[ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11.]",
        (
            "Tensor(shape=[12], dtype=Float32, value= [ 0.00000000e+00,  1.00000000e+00,  2.00000000e+00,  3.00000000e+00,  4.00000000e+00,  5.00000000e+00,  6.00000000e+00,  7.00000000e+00,  8.00000000e+00,  9.00000000e+00,  1.00000000e+01,  1.10000000e+01\n"
            " ])"
        ),
    ),
    (
        lambda: Tensor(np.arange(30), ms.int32),
        ("[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n 24 25 26 27 28 29]"),
        (
            "Tensor(shape=[30], dtype=Int32, value= [ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, \n"
            " 24, 25, 26, 27, 28, 29])"
        ),
    ),
    (
        lambda: Tensor(np.arange(1001), ms.int64),
        "[   0    1    2 ...  998  999 1000]",
        "Tensor(shape=[1001], dtype=Int64, value= [   0,    1,    2 ...  998,  999, 1000])",
    ),
    (
        lambda: Tensor(np.arange(1001), ms.float32),
        "[   0.    1.    2. ...  998.  999. 1000.]",
        "Tensor(shape=[1001], dtype=Float32, value= [ 0.00000000e+00,  1.00000000e+00,  2.00000000e+00 ...  9.98000000e+02,  9.99000000e+02,  1.00000000e+03])",
    ),
    (
        lambda: Tensor(np.arange(64).reshape(8, 8), ms.int32),
        (
            "[[ 0  1  2  3  4  5  6  7]\n"
            " [ 8  9 10 11 12 13 14 15]\n"
            " [16 17 18 19 20 21 22 23]\n"
            " [24 25 26 27 28 29 30 31]\n"
            " [32 33 34 35 36 37 38 39]\n"
            " [40 41 42 43 44 45 46 47]\n"
            " [48 49 50 51 52 53 54 55]\n"
            " [56 57 58 59 60 61 62 63]]"
        ),
        (
            "Tensor(shape=[8, 8], dtype=Int32, value=\n"
            "[[ 0,  1,  2 ...  5,  6,  7],\n"
            " [ 8,  9, 10 ... 13, 14, 15],\n"
            " [16, 17, 18 ... 21, 22, 23],\n"
            " ...\n"
            " [40, 41, 42 ... 45, 46, 47],\n"
            " [48, 49, 50 ... 53, 54, 55],\n"
            " [56, 57, 58 ... 61, 62, 63]])"
        ),
    ),
    (
        lambda: Tensor(np.arange(2000).reshape(2, 1000), ms.int32),
        ("[[   0    1    2 ...  997  998  999]\n [1000 1001 1002 ... 1997 1998 1999]]"),
        (
            "Tensor(shape=[2, 1000], dtype=Int32, value=\n"
            "[[   0,    1,    2 ...  997,  998,  999],\n"
            " [1000, 1001, 1002 ... 1997, 1998, 1999]])"
        ),
    ),
    (
        lambda: Tensor(np.arange(1200).reshape(40, 30), ms.float32),
        (
            "[[0.000e+00 1.000e+00 2.000e+00 ... 2.700e+01 2.800e+01 2.900e+01]\n"
            " [3.000e+01 3.100e+01 3.200e+01 ... 5.700e+01 5.800e+01 5.900e+01]\n"
            " [6.000e+01 6.100e+01 6.200e+01 ... 8.700e+01 8.800e+01 8.900e+01]\n"
            " ...\n"
            " [1.110e+03 1.111e+03 1.112e+03 ... 1.137e+03 1.138e+03 1.139e+03]\n"
            " [1.140e+03 1.141e+03 1.142e+03 ... 1.167e+03 1.168e+03 1.169e+03]\n"
            " [1.170e+03 1.171e+03 1.172e+03 ... 1.197e+03 1.198e+03 1.199e+03]]"
        ),
        (
            "Tensor(shape=[40, 30], dtype=Float32, value=\n"
            "[[ 0.00000000e+00,  1.00000000e+00,  2.00000000e+00 ...  2.70000000e+01,  2.80000000e+01,  2.90000000e+01],\n"
            " [ 3.00000000e+01,  3.10000000e+01,  3.20000000e+01 ...  5.70000000e+01,  5.80000000e+01,  5.90000000e+01],\n"
            " [ 6.00000000e+01,  6.10000000e+01,  6.20000000e+01 ...  8.70000000e+01,  8.80000000e+01,  8.90000000e+01],\n"
            " ...\n"
            " [ 1.11000000e+03,  1.11100000e+03,  1.11200000e+03 ...  1.13700000e+03,  1.13800000e+03,  1.13900000e+03],\n"
            " [ 1.14000000e+03,  1.14100000e+03,  1.14200000e+03 ...  1.16700000e+03,  1.16800000e+03,  1.16900000e+03],\n"
            " [ 1.17000000e+03,  1.17100000e+03,  1.17200000e+03 ...  1.19700000e+03,  1.19800000e+03,  1.19900000e+03]])"
        ),
    ),
    (
        lambda: Tensor([[[1.0]]]),
        "[[[1.]]]",
        ("Tensor(shape=[1, 1, 1], dtype=Float32, value=\n[[[ 1.00000000e+00]]])"),
    ),
    (
        lambda: Tensor(np.arange(7).reshape(7, 1), ms.int64),
        ("[[0]\n [1]\n [2]\n [3]\n [4]\n [5]\n [6]]"),
        ("Tensor(shape=[7, 1], dtype=Int64, value=\n[[0],\n [1],\n [2],\n ...\n [4],\n [5],\n [6]])"),
    ),
    (
        lambda: Tensor(5, ms.int8),
        "5",
        "Tensor(shape=[], dtype=Int8, value= 5)",
    ),
]
