"""The site: versions, drafts and the journal as pages of MkDocs."""
