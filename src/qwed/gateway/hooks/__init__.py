"""Coding agents ask through their own hooks: what their tools mean, and answers in their own words."""
