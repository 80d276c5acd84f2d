"""Document 003: a classifier that becomes many tiny nodes."""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.linear_model import SGDClassifier


def make_model() -> tuple[SGDClassifier, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    return SGDClassifier(random_state=0).fit(X, y), X[:1].astype(np.float32)
