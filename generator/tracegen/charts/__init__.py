"""One file per chart: a DataFrame in, an altair chart out; nothing is saved here."""
