"""The one place that calls INetworkDefinition: layers, weight constants, text form and verifier. Knows no model."""
