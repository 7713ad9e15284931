"""torch.compile(backend="neuron"): whole graphs through the lowering, runtime and cache of eager.

Dynamo finds `backend.neuron` by the entry point `torch_dynamo_backends`. AOTAutograd gives it
functional graphs of ATen ops. To the C++ core a graph is one call among others: the key of its
inputs finds a program, or asks `graph.Programs` to make one by `lower`. A graph is traced once and
has one program per key, so that shapes, views and aliases need no tracing again.
"""
