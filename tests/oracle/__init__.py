"""The gateway's behaviour, recorded: requests with complete answers and records, to be compared later.

`adapter` is the only module here that knows how a gateway is built. `world` speaks to one gateway and writes
down what came of it, `labels` takes out what differs from run to run, `scenarios` are what is asked.
"""
