"""AgentDojo's tasks, replayed through the gateway without a model. `make agentdojo` runs it."""
