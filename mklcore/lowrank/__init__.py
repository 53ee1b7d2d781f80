"""Many rows: every kernel becomes a few features of its own, and nothing of size n x n is ever made.

    k_m(x, z)  ~  phi_m(x)'phi_m(z),     phi_m(x) = R_m' k_m(landmarks, x),     R_m R_m' = K_m(landmarks, landmarks)^+

``nystroem`` chooses landmarks and makes the features, ``features`` holds them and carries them to new rows, ``weighing``
solves lp-norm learning on them (``boxed`` and ``gradual`` are its machines, ``ridge`` the one that needs no rows), ``inside``
does at p = 1, ``central`` above it where C is large, ``fitting`` chooses among them, ``greedy``
is MKL-GOMP, and ``whole`` says what such an answer proves for the kernels themselves.
"""

from mklcore.lowrank.nystroem import Nystroem

__all__ = ["Nystroem"]
