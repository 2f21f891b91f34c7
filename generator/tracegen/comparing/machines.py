"""On which machines two sides were made, in a sentence: the same one is said only where it is known."""

from tracegen.comparing.comparison import same_machines
from tracegen.contract import quantities as q
from tracegen.publishing.side import Side, machines_of

WORDS = ("processor", "cores", "memory", "id")  # of Measured.machine


def machines(a: Side, b: Side) -> str:
    """What is known of the machines of both sides, and what it means for their times."""
    if problem := _why_not_compared(a, b):
        return f"{problem[:1].upper()}{problem[1:]}: times are not compared."
    if not one_machine(a, b):
        without = [side.name for side in (a, b) if any(run.facts.host.id is None for run in side.runs)]
        if not without:
            return "Several machines, with as many runs of each side on each of them."
        return f"Both sides name {_words(a)}. That it is one machine is not known: {_no_id(without)} of a machine."
    return f"Same machine: {_words(a)}."


def one_machine(a: Side, b: Side) -> bool:
    """Whether all runs of both sides are known to be of one machine, by its id."""
    of_a, of_b = machines_of(a.runs, b.runs)
    return len({*of_a, *of_b}) == 1 and all(None not in run.machine for side in (a, b) for run in side.runs)


def _why_not_compared(a: Side, b: Side) -> str:
    """Why times of these sides are not compared; empty if they are."""
    of_a, of_b = machines_of(a.runs, b.runs)
    if same_machines(of_a, of_b):
        return ""
    unknown = [side.name for side, of in ((a, of_a), (b, of_b)) if any(None in machine for machine in of)]
    if unknown:
        one = len(unknown) == 1
        return f"the machine{'' if one else 's'} of {' and '.join(unknown)} {'is' if one else 'are'} not known"
    if set(of_a) == set(of_b):
        return "the sides have other numbers of runs on each of several machines"
    differ = [
        word
        for word, x, y in zip(WORDS, zip(*of_a, strict=True), zip(*of_b, strict=True), strict=False)
        if set(x) != set(y)
    ]
    return f"the machines differ ({', '.join(differ)})"


def _words(side: Side) -> str:
    """`AMD EPYC, 2 cores, 23.5 GiB`."""
    host = side.typical.facts.host
    return f"{q.printable(host.cpu)}, {q.counted(host.cores, 'core')}, {q.size(host.memory_bytes)}"


def _no_id(names: list[str]) -> str:
    return f"{names[0]} holds no id" if len(names) == 1 else f"{' and '.join(names)} hold no id"
