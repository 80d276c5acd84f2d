"""Document 000: a linear regression."""

import numpy as np
from sklearn.linear_model import LinearRegression

X = np.load("X.npy")


def make_model() -> tuple[LinearRegression, np.ndarray]:
    return LinearRegression().fit(X, X.sum(axis=1)), X
