"""What the devices that hold the model files did during each measured pass, and how much of the files was in memory."""

import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.passes import measured


def by_pass(tables: Tables, page_bytes: int) -> pd.DataFrame:
    """One row for each measured pass over which a device was counted.

    Columns: pass_id, duration_ns, counted_ns, n_reads, read_bytes (sums over devices), busy_share (of counted_ns, of
    the busiest device), bytes_per_read, bytes_per_second (over counted_ns), cached_bytes and evicted_bytes (of the
    model files, after the pass: what was in memory, and what had been there and was dropped; null where it was not
    asked). The counters are those of the whole device, other programs included.
    """
    device = tables["device"]
    counted = device["counted_ns"].astype(float)
    busy_share = device["busy_ns"].astype(float) / counted.where(counted > 0)
    sums = (
        device.assign(busy_share=busy_share)
        .groupby("pass_id")
        .agg(
            counted_ns=("counted_ns", "max"),
            n_reads=("n_reads", "sum"),
            read_bytes=("read_bytes", "sum"),
            busy_share=("busy_share", "max"),
        )
    )
    passes = measured(tables).dropna(subset=["duration_ns"]).set_index("pass_id")[["duration_ns"]].astype("int64")
    table = passes.join(sums, how="inner").reset_index()
    read, reads = table["read_bytes"].astype(float), table["n_reads"].astype(float)
    table["busy_share"] = table["busy_share"].clip(upper=1.0)  # counted in ticks of the kernel's clock
    table["bytes_per_read"] = read / reads.where(reads > 0)
    table["bytes_per_second"] = read / (table["counted_ns"].astype(float) / 1e9).where(table["counted_ns"] > 0)
    pages = tables["cache"].groupby("pass_id")[["cached_pages", "evicted_pages"]].sum() * page_bytes
    table["cached_bytes"] = table["pass_id"].map(pages["cached_pages"]).astype("Int64")
    table["evicted_bytes"] = table["pass_id"].map(pages["evicted_pages"]).astype("Int64")
    return table
