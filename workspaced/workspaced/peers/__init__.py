"""One workspace on several machines: sends what this daemon shares, and applies what its peers share."""
