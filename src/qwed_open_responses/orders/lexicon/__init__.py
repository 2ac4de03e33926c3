"""One file a language: a concept, then its words. `*` stands for any ending (or beginning), `_` for a blank.

Accents are left out in the languages that are also written without them, except for Vietnamese.
"""
