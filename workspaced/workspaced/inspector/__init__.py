"""`workspaced inspect`: a page that shows what an agent was shown, over a log or live."""
