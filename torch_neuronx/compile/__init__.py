"""torch.compile(backend="neuron"): whole graphs through the lowering, runtime and cache of eager.

Dynamo finds `backend.neuron` by the entry point `torch_dynamo_backends`. AOTAutograd gives it
functional graphs of ATen ops; each becomes a `graph.CompiledGraph`, which is to the C++ core one
call among others: its inputs' key finds a program, or asks `lower` to make one. A graph is traced
once and has one program per key, so that shapes, views and aliases need no tracing again.
"""
