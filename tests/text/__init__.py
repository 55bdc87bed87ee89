"""Text tests: tokenizers and chat templates against the Python libraries."""
