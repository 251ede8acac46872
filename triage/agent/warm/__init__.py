"""The warm interpreter: a fork server, and the candidates that its children become."""
