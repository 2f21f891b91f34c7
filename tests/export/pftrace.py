"""Reads a Perfetto trace with Perfetto's own classes, and joins its packets into slices, flows and counters.

It goes by the rules of Perfetto's trace processor: events by time, those of one time as they stand in the file; an end
closes the last slice that is open on its track; slices that name the same flow form a chain.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import BuiltinClock, Trace, TrackEvent


@dataclass
class Slice:
    track: str
    uuid: int
    name: str
    category: str
    args: dict[str, int | str]
    begin: int
    end: int | None = None
    inside: Slice | None = None

    @property
    def duration(self) -> int:
        assert self.end is not None
        return self.end - self.begin


@dataclass
class Drawn:
    """What one file shows."""

    process: str = ""
    tracks: dict[int, str] = field(default_factory=dict)
    threads: set[str] = field(default_factory=set)
    slices: list[Slice] = field(default_factory=list)
    instants: list[Slice] = field(default_factory=list)
    flows: list[tuple[Slice, Slice]] = field(default_factory=list)
    counters: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    loose_flows: int = 0  # those that have but one end

    def of(self, *, track: str | None = None, category: str | None = None) -> list[Slice]:
        return [s for s in self.slices if track in (None, s.track) and category in (None, s.category)]


def read(path: Path) -> Drawn:
    """Read a file; whatever breaks a rule of the format fails."""
    trace = Trace.FromString(path.read_bytes())
    first = trace.packet[0].clock_snapshot
    assert first.primary_trace_clock == BuiltinClock.Value("BUILTIN_CLOCK_MONOTONIC") == first.clocks[0].clock_id
    assert trace.packet[1].sequence_flags == 1
    assert trace.packet[1].trace_packet_defaults.timestamp_clock_id == first.primary_trace_clock
    drawn, words, events = Drawn(), defaultdict[str, dict[int, str]](dict), []
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == 1 and not packet.HasField("timestamp_clock_id")
        for kind, texts in packet.interned_data.ListFields():
            for text in texts:
                value = text.str.decode() if hasattr(text, "str") else text.name
                assert text.iid and text.iid not in words[kind.name]
                words[kind.name][text.iid] = value
        if packet.HasField("track_descriptor"):
            described = packet.track_descriptor
            name = described.process.process_name or described.thread.thread_name or described.name
            assert name and described.uuid not in drawn.tracks
            assert described.parent_uuid in drawn.tracks or described.HasField("process")
            drawn.tracks[described.uuid] = name
            if described.HasField("process"):
                drawn.process = name
            if described.HasField("thread"):
                assert described.thread.pid == 1 and described.thread.tid and name not in drawn.threads
                drawn.threads.add(name)
            if described.HasField("counter"):
                assert described.counter.Unit.Name(described.counter.unit) == "UNIT_SIZE_BYTES"
        if packet.HasField("track_event"):
            assert packet.sequence_flags == 2 and packet.HasField("timestamp")
            events.append((packet.timestamp, packet.track_event))
    _join(drawn, words, sorted(events, key=lambda event: event[0]))
    return drawn


def _join(drawn: Drawn, words: dict[str, dict[int, str]], events: list[tuple[int, TrackEvent]]) -> None:
    stacks: dict[int, list[Slice]] = defaultdict(list)
    chains: dict[int, Slice] = {}
    for time, event in events:
        track, stack = drawn.tracks[event.track_uuid], stacks[event.track_uuid]
        if event.type == TrackEvent.TYPE_COUNTER:
            drawn.counters[track].append((time, event.counter_value))
        elif event.type == TrackEvent.TYPE_SLICE_END:
            stack.pop().end = time
        else:
            args = {
                words["debug_annotation_names"][given.name_iid]: given.int_value
                if given.HasField("int_value")
                else words["debug_annotation_string_values"][given.string_value_iid]
                for given in event.debug_annotations
            }
            category = ",".join(words["event_categories"][iid] for iid in event.category_iids)
            name = words["event_names"][event.name_iid]
            opened = Slice(track, event.track_uuid, name, category, args, time, inside=stack[-1] if stack else None)
            if event.type == TrackEvent.TYPE_INSTANT:
                drawn.instants.append(opened)
                continue
            assert event.type == TrackEvent.TYPE_SLICE_BEGIN
            drawn.slices.append(opened)
            stack.append(opened)
            for flow in event.terminating_flow_ids:
                drawn.flows.append((chains.pop(flow), opened))
            for flow in event.flow_ids:
                if flow in chains:
                    drawn.flows.append((chains[flow], opened))
                chains[flow] = opened
    drawn.loose_flows = len(chains)
    open_slices = [s for stack in stacks.values() for s in stack]
    assert all(s.track == "passes" for s in open_slices), open_slices  # a pass may have no end
