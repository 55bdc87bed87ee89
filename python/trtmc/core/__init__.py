"""What every build shares: errors, targets, configs, weights, contracts, profiles. Knows no model."""
