"""The ledger and its tokens, outcomes, erasure."""
