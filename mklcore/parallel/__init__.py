"""Work in other processes and on clusters: sweeps, tasks, partitions of rows, shards of kernels."""
