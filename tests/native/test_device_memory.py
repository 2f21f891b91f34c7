"""What a trace says of the memory of devices: taken where it can be, left out where it cannot."""

import pytest

from tracegen.readers.native.trace import _device_memory


def test_the_memory_of_each_device_is_taken_by_its_name() -> None:
    info = {"device_memory.CUDA0": "5 8", "device_memory.RPC1": "0 9223372036854775807", "host.name": "1 2"}
    assert _device_memory(info) == {
        "CUDA0": {"free_bytes": 5, "total_bytes": 8},
        "RPC1": {"free_bytes": 0, "total_bytes": 9223372036854775807},
    }


@pytest.mark.parametrize(
    "said", ["", "0 0", "9 8", "8", "-1 8", "1 2 3", "1 9223372036854775808", "1 " + "9" * 5000, "a b"]
)
def test_what_no_driver_says_is_left_out(said: str) -> None:
    assert _device_memory({"device_memory.CUDA0": said}) == {}
