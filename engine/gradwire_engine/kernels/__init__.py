"""What kernels are made with: blocks, sweeps and parts of rules that save passes over memory."""
