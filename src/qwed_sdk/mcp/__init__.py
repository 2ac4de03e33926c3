"""QWED for the Model Context Protocol: a proxy in front of any server, and the gateway itself as a server."""
