"""Publishing: versions as bundles, their ledger, what is withheld, what was found false later."""
