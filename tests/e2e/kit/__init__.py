"""What the whole-path tests share: tiny checkpoints to order, a numpy decoder as their oracle, and the product's face."""
