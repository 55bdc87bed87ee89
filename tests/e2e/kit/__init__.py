"""What the whole-path tests share: tiny checkpoints to order, a numpy decoder as oracle, the product's face."""
