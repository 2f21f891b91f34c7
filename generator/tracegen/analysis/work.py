"""What threads compute in operations."""

import pandas as pd


def computed_ns(spans: pd.DataFrame) -> pd.Series:
    """The work of each span without page faults of model files, and without time in which it had no processor: ns.

    What was not recorded is not left out: such spans count as computing all of their work.
    """
    work: pd.Series = spans["work_ns"] - spans["fault_ns"].fillna(0) - spans["preempted_ns"].fillna(0)
    return work.astype("float64")
