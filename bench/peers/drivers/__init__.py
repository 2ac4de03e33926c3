"""One driver per peer: its public interface, put to the work of `bench.peers.work`."""
