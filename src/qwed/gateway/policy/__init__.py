"""What has a meaning here: registries and workflows."""
