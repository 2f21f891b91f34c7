"""What a text outside the site says of versions, and whether that is still true: `tracegen check`."""
