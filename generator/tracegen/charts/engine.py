"""What drawing charts needs of the machine: the JavaScript engine that draws them reserves many addresses."""

import resource

from tracegen.contract.errors import EnvironmentFailure

GIB = 1 << 30
ADDRESSES = 66 * GIB  # reserved, not used; with fewer the engine ends the whole process


def refuse_few_addresses() -> None:
    """Raise EnvironmentFailure where a limit of addresses (`ulimit -v`) keeps the engine from starting."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < ADDRESSES:
        raise EnvironmentFailure(
            f"charts cannot be drawn: ulimit -v allows {limit / GIB:.1f} GiB of addresses, and the engine that draws "
            f"reserves {ADDRESSES // GIB} GiB, most of which it never uses; lift that limit (ulimit -v unlimited), and "
            "limit memory by a cgroup instead"
        )
