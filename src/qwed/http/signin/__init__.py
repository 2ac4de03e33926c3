"""Signing in with an identity provider: OpenID Connect, authorization code with PKCE."""
