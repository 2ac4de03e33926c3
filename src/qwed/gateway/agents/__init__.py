"""Agents and keys: who may ask."""
