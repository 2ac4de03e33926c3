"""Who said a value: the user, the operator, a tool's result, or nobody.

Pure: texts and results in, sources and sentences out. A value is compared by its *atoms* (`atoms.py`),
whatever its spelling. What a conversation has heard is an `Index` of keyed hashes of atoms with their sources
(`index.py`); `trace.py` asks it where the values of a proposed action come from. `provenance` in
`qwed.assurance` is something else: the graph of tokens that led to a decision.
"""
