"""The weights of a model: their main type, and how many numbers they are."""

import pandas as pd


def main_type(tensors: pd.DataFrame) -> str:
    """The type that most bytes of the table `tensors` have; empty without any tensor of a known type."""
    sizes = tensors.groupby(tensors["dtype"].astype("object"))["size_bytes"].sum()
    return str(sizes.idxmax()) if len(sizes) else ""


def n_elements(tensors: pd.DataFrame) -> int | None:
    """How many numbers the tensors hold: what is called the parameters of a model; None if a shape is not known."""
    shape = tensors[["ne0", "ne1", "ne2", "ne3"]].astype("object")
    if shape.isna().any(axis=None):
        return None
    return int(shape.prod(axis=1).sum()) if len(shape) else 0
