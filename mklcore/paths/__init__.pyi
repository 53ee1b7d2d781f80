"""Paths: models along a parameter, their files, and how a point is chosen and judged."""

from mklcore.estimators.calibration import calibrate as calibrate, reliability as reliability
from mklcore.paths.choosing import (
    CrossValidated as CrossValidated,
    choose as choose,
    choose_C as choose_C,
    cross_validate_path as cross_validate_path,
    leave_one_out as leave_one_out,
    validation_curve as validation_curve,
)
from mklcore.paths.files import read_paths as read_paths, write_paths as write_paths
from mklcore.paths.path import (
    Path as Path,
    fit_path as fit_path,
    log_grid as log_grid,
    path_grid as path_grid,
    scores_of as scores_of,
)
