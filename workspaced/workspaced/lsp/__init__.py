"""`workspaced lsp`: a language server for any editor; publishes what it shows, and answers from the daemon."""
