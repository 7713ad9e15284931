"""What surrounds the device: platforms, environment variables, executable cache, metrics.

Nothing here lowers or launches. Importing this package imports neither jaxlib nor the
extension; each module does so only in the functions that need them.
"""
