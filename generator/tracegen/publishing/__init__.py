"""Publishing: versions as bundles, the ledger, privacy, and errata of earlier versions."""
