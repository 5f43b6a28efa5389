"""What an agent is told without asking: how what the user looks at differs from what the agent was told before."""
