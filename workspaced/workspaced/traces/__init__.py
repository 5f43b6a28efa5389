"""Recorded calls, prompts and volunteered contexts as OpenTelemetry spans, once and while the daemon runs."""
