"""Fig. 1 of the MKL-GOMP paper at full size, beside the stored replication: python benchmarks/fig1.py [repetitions]"""

import sys
import time

import numpy as np

import mklcore as mkl


def main() -> None:
    experiment = mkl.EXPERIMENTS["gomp_fig1"]
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else experiment.repetitions
    began = time.perf_counter()
    found = experiment.run(repetitions)
    print(f"{experiment.title}: {repetitions} repetitions, {time.perf_counter() - began:.0f} s, {experiment.unit}")
    print(f"{'nu':>6}" + "".join(f"{column:>22}" for column in found.columns))
    reference = experiment.reference(found.rows)
    for row, means, errors, stored in zip(found.rows, found.mean, found.standard_error, reference, strict=True):
        cells = (f"{m:.2f}±{e:.2f} ({s:.2f})" for m, e, s in zip(means, errors, stored, strict=True))
        print(f"{row:>6}" + "".join(f"{cell:>22}" for cell in cells))
    # Both runs carry noise: the stored one is taken to have the standard error measured here.
    z = np.abs(found.mean - reference) / np.maximum(np.sqrt(2) * found.standard_error, 1e-12)
    errors_only = z[:, :-1]
    print(f"difference in joint standard errors: median {np.median(errors_only):.2f}, largest {errors_only.max():.2f}")
    print(
        f"cells beyond 2: {int((errors_only > 2).sum())} of {errors_only.size}, beyond 3: "
        f"{int((errors_only > 3).sum())}"
    )


if __name__ == "__main__":
    main()
