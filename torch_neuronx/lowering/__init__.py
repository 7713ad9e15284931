"""ATen to StableHLO: typed helpers (`hlo`), one rule per op in files by family, one registry.

Nothing here runs on a cached op call. Importing this package imports no jaxlib: the MLIR bindings
are loaded when the first program is built. Called by `eager` on a miss and by `compile`.
"""
