"""What can be proven about an action: one engine per kind of content, one protocol for all."""
