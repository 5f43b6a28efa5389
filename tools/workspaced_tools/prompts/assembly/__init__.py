"""Assembles a prompt from a conversation and its gathered inputs. Pure."""
