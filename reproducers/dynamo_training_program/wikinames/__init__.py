"""Names of people and places, and a small transformer that tells them apart."""

from .data import Names, batches
from .model import Classifier, ModelConfig

__all__ = ["Classifier", "ModelConfig", "Names", "batches"]
