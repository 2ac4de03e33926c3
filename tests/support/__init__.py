"""What several tests share: fakes for the ports, a gateway around them, and a real server to talk to."""
