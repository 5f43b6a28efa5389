"""Context for agents in frameworks and on SDKs: a transport of their HTTP client, and a hook of LiteLLM."""
