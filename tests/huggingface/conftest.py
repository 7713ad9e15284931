"""What the tests of other libraries share: they run without a network.

The environment is set before huggingface_hub is imported, which reads it once.
"""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
