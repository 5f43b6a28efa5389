"""Agents' real programs for tests: started with a home of their own, on a model that is a server of ours."""
