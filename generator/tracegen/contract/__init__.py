"""The words of the house: tables, settings, checks, errors and text; imports no other room."""
