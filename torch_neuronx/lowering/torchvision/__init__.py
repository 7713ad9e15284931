"""Rules for torchvision's own operators.

The registry imports these files when it is first asked for an operator of that namespace, which
torchvision has then declared; nothing here imports torchvision.
"""
