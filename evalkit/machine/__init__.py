"""The machine and the process: processors, threads, folders, terminals, kernels, and files."""
