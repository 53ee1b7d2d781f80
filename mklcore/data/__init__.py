"""Data: a frozen table, how it is read from files, the samples, and generators with known truth."""

from mklcore.data.column_groups import (
    standardise_spectra,
    wavelengths,
    with_bands,
    with_second_differences,
)
from mklcore.data.columns import Column, ReadOptions
from mklcore.data.dataset import TASKS, Dataset, Split, three_way_split
from mklcore.data.reading import TableSummary, describe_table, read_table
from mklcore.data.samples import SAMPLES, Sample, load_sample
from mklcore.data.synthetic import (
    NormTruth,
    PolynomialTruth,
    RingTruth,
    SequencesTruth,
    SpectraTruth,
    ToyTruth,
    make_mkl_toy,
    make_ring,
    make_ringnorm,
    make_sequences,
    make_sparse_polynomial,
    make_spectra,
    make_twonorm,
)
from mklcore.data.target import TargetCandidate

__all__ = [
    "SAMPLES",
    "TASKS",
    "Column",
    "Dataset",
    "NormTruth",
    "PolynomialTruth",
    "ReadOptions",
    "RingTruth",
    "Sample",
    "SequencesTruth",
    "SpectraTruth",
    "Split",
    "TableSummary",
    "TargetCandidate",
    "ToyTruth",
    "describe_table",
    "load_sample",
    "make_mkl_toy",
    "make_ring",
    "make_ringnorm",
    "make_sequences",
    "make_sparse_polynomial",
    "make_spectra",
    "make_twonorm",
    "read_table",
    "standardise_spectra",
    "three_way_split",
    "wavelengths",
    "with_bands",
    "with_second_differences",
]
