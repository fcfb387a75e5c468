"""Numbers over many steps in bounded memory: what becomes of the steps of one column."""

import numpy as np

from msjax.core.page.columns import Columns, thinned

HOW = {"value": "mean", "low": "min", "high": "max", "wrong": "sum"}


def add(columns, step, **named):
    columns.add([step], list(named), {plane: [[value] for value in named.values()] for plane in HOW})


def test_steps_have_a_column_each_until_there_are_too_many():
    columns = Columns(HOW, columns=2)
    for step in range(1, 6):
        add(columns, 10 * step, a=step)
    data = columns.data()
    # Four steps became two columns of two, then the fifth came.
    assert data["first"].tolist() == [10, 30, 50] and data["last"].tolist() == [20, 40, 50]
    planes = {plane: values[0].tolist() for plane, values in data["planes"].items()}
    assert planes == {"value": [1.5, 3.5, 5], "low": [1, 3, 5], "high": [2, 4, 5], "wrong": [3, 7, 5]}


def test_a_column_of_several_steps_is_their_mean_whatever_their_number():
    columns = Columns(HOW, columns=2)
    for step in range(1, 17):
        add(columns, step, a=step)
    data = columns.data()
    assert data["first"].tolist() == [1, 5, 9, 13] and data["planes"]["value"].tolist() == [[2.5, 6.5, 10.5, 14.5]]


def test_steps_in_batches_are_those_one_by_one():
    columns = Columns(HOW, columns=2)
    for batch in ([1], [2, 3, 4, 5, 6], [7, 8], [9, 10, 11, 12, 13, 14, 15, 16, 17, 18]):
        columns.add(batch, ["a"], {plane: [batch] for plane in HOW})
    data = columns.data()
    # Twice as many steps of a column after 4, 8 and 16.
    assert data["first"].tolist() == [1, 9, 17] and data["last"].tolist() == [8, 16, 18]
    planes = {plane: values[0].tolist() for plane, values in data["planes"].items()}
    assert planes == {"value": [4.5, 12.5, 17.5], "low": [1, 9, 17], "high": [8, 16, 18], "wrong": [36, 100, 35]}


def test_names_come_later_and_stay_away():
    columns = Columns(HOW)
    add(columns, 1, a=1.0)
    add(columns, 2, b=np.nan, a=2.0)
    for i in range(20):
        add(columns, 3 + i, **{f"n{i}": i})
    values = columns.data()["planes"]["value"]
    assert columns.data()["names"][:3] == ["a", "b", "n0"] and values.shape == (22, 22)
    np.testing.assert_array_equal(values[:2, :3], [[1, 2, np.nan], [np.nan] * 3])


def test_nan_is_left_out_of_a_mean():
    columns = Columns(HOW, columns=1)
    for step, value in enumerate([np.nan, 2.0, 4.0, np.nan]):
        add(columns, step, a=value)
    add(columns, 4, a=np.inf)
    assert columns.data()["planes"]["value"].tolist() == [[3.0, np.inf]]


def test_thinning():
    columns = Columns(HOW)
    for step in range(7):
        add(columns, step, a=step)
    found = thinned(columns.data(), HOW, 3)
    assert found["first"].tolist() == [0, 3, 6] and found["last"].tolist() == [2, 5, 6]
    planes = {plane: values[0].tolist() for plane, values in found["planes"].items()}
    assert planes == {"value": [1, 4, 6], "low": [0, 3, 6], "high": [2, 5, 6], "wrong": [3, 12, 6]}
    assert len(thinned(columns.data(), HOW, 7)["first"]) == 7


def test_thinning_where_nothing_is():
    columns = Columns(HOW)
    for step in range(4):
        add(columns, step, a=np.nan)
    assert np.isnan(thinned(columns.data(), HOW, 2)["planes"]["value"]).all()
