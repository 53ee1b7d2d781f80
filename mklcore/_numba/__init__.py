"""What the library needs of numba: how its functions are compiled."""
