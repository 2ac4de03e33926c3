"""What a developer's machine needs: hooks in the settings of coding agents, and a sandbox to run them in."""
