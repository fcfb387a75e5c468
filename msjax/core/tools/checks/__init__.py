"""Checks in compiled steps of what is no NaN: indices out of range, integer divisions by zero, and conditions of the user's."""
