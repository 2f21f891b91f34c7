"""Why a part of the time of a phase is as large as it is: one file for each part of the attribution."""
