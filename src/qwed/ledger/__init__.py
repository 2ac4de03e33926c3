"""The record that can't be changed unnoticed: chain, tree, checkpoints, receipts, offline verification."""
