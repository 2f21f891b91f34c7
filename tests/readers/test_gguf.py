import logging
import math
import struct
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.readers import gguf_bytes as made
from tracegen.contract.errors import ModelFormatError
from tracegen.contract.ggml_types import GGML_TYPES
from tracegen.measure.demo.models import write_demo_model
from tracegen.readers.gguf.file import read_model

ONE = {"blk.0.attn_q.weight": ((4, 2), 0, 32)}
LLAMA = (made.string("general.architecture", "llama"), made.u32("llama.block_count", 7))


def written(tmp_path: Path, data: bytes, name: str = "m.gguf") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def test_reading_many_tensors_is_reported_from_the_first_on(tmp_path: Path) -> None:
    data = made.file({f"t{i}": ((1,), 0, 4) for i in range(10_500)})
    updates: list[tuple[int, int, str]] = []
    assert len(read_model(written(tmp_path, data), lambda *of: updates.append(of)).tensors) == 10_500
    assert updates == [(done, 10_500, "tensors") for done in range(0, 10_500, 1000)]
    updates.clear()
    read_model(written(tmp_path, made.file(ONE)), lambda *of: updates.append(of))
    assert updates == []


def refusal(tmp_path: Path, data: bytes) -> str:
    with pytest.raises(ModelFormatError) as error:
        read_model(written(tmp_path, data))
    return str(error.value)


@pytest.mark.parametrize("kind", ["demo", "moe"])
@pytest.mark.parametrize("dtype", ["F16", "Q4_0", "Q8_0", "Q4_K"])
def test_agrees_with_the_reader_of_the_gguf_package(tmp_path: Path, kind: str, dtype: str) -> None:
    (path,) = write_demo_model(kind, tmp_path / "m.gguf", dtype=dtype)
    expected = [
        (t.name, int(t.data_offset), int(t.n_bytes), t.tensor_type.name, [int(n) for n in t.shape])
        for t in gguf.GGUFReader(path).tensors
    ]
    tensors = read_model(path).tensors
    rows = []
    for row in tensors.itertuples():
        shape = [row.ne0, row.ne1, row.ne2, row.ne3]
        while len(shape) > 1 and shape[-1] == 1:
            shape.pop()
        rows.append((row.name, row.offset, row.size_bytes, row.dtype, shape))
    assert rows == sorted(expected, key=lambda t: t[1])


def test_metadata_agrees_with_the_gguf_package(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    values: dict[str, object] = {
        "a.u8": 255,
        "a.i8": -128,
        "a.u16": 65535,
        "a.i16": -32768,
        "a.u32": 2**32 - 1,
        "a.i32": -(2**31),
        "a.u64": 2**64 - 1,
        "a.i64": -(2**63),
        "a.f32": 0.5,
        "a.f64": 0.1,
        "a.bool": True,
        "a.text": "Grüße ▁",
    }
    adders = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64")
    for (key, value), kind in zip(values.items(), (*adders, "bool", "string"), strict=True):
        getattr(writer, f"add_{kind}")(key, value)
    writer.add_array("a.words", ["a", "", "ccc"])
    writer.add_array("a.numbers", [1, 2])
    writer.add_string("a.long", "x" * 5000)
    writer.add_float32("a.least", -math.inf)
    writer.add_tensor("t", np.zeros(3, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert read_model(tmp_path / "m.gguf").metadata == {
        "general.architecture": "llama",
        **values,
        "a.words": {"array": "string", "n": 3},
        "a.numbers": {"array": "i32", "n": 2},
        "a.long": {"string": 5000},
        "a.least": {"number": "-inf"},  # run.json is JSON, which has no such number
    }


def test_type_sizes_are_those_of_the_gguf_package() -> None:
    theirs = {int(t): (t.name, *gguf.GGML_QUANT_SIZES[t]) for t in gguf.GGMLQuantizationType}
    theirs[9] = ("Q8_1", 32, 36)  # ggml keeps two f16 there; the package still counts two f32
    assert {number: GGML_TYPES.get(number) for number in theirs} == theirs


def test_a_hand_made_file(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        made.file(
            {
                "token_embd.weight": ((32, 3), 2, 54),
                "blk.6.ffn_gate_exps.weight": ((64, 2, 4), 39, 272),
                "blk.6.ffn_gate_exps.bias": ((2, 4), 0, 32),
            },
            [*LLAMA, made.string("general.name", "tiny"), made.u32("llama.expert_count", 4)],
        ),
    )
    model = read_model(path)
    begin = model.data_begin[0]
    assert begin % 32 == 0
    assert (model.architecture, model.name, model.n_layers, model.n_experts) == ("llama", "tiny", 7, 4)
    assert (model.n_experts_used, model.random_weights, model.paths) == (None, None, (path,))
    assert model.tensors.to_dict("list") == {
        "tensor": [0, 1, 2],
        "name": ["token_embd.weight", "blk.6.ffn_gate_exps.weight", "blk.6.ffn_gate_exps.bias"],
        "file": [0, 0, 0],
        "offset": [begin, begin + 64, begin + 64 + 288],
        "size_bytes": [54, 272, 32],
        "dtype": ["Q4_0", "MXFP4", "F32"],
        "ne0": [32, 64, 2],
        "ne1": [3, 2, 4],
        "ne2": [1, 4, 1],
        "ne3": [1, 1, 1],
        "layer": [None, 6, 6],
        "component": ["embedding", "expert_gate", "expert_gate"],
        "n_experts": [None, 4, 4],
    }
    assert model.files.drop(columns="sha256").to_dict("list") == {
        "file": [0],
        "model": [0],
        "split_index": [0],
        "path": ["m.gguf"],
        "size_bytes": [path.stat().st_size],
        "axis_begin": [0],
    }
    assert model.files["sha256"].isna().all()


@pytest.mark.parametrize("alignment", [1, 8, 64, 4096])
def test_alignment_is_honoured(tmp_path: Path, alignment: int) -> None:
    data = made.file(ONE | {"b": ((1,), 24, 1)}, [made.u32("general.alignment", alignment)], alignment)
    model = read_model(written(tmp_path, data))
    assert model.data_begin[0] % alignment == 0 and data[model.tensors["offset"][0] :][:32] == b"\xaa" * 32


def test_version_2_and_a_file_without_tensors(tmp_path: Path) -> None:
    assert read_model(written(tmp_path, made.header(version=2))).tensors.empty


def test_hashes_stand_beside_their_files(tmp_path: Path) -> None:
    model = read_model(written(tmp_path, made.file(ONE)))
    assert model.files["sha256"].isna().all()
    hashed = model.with_hashes(["ab" * 32])
    assert hashed.files["sha256"].tolist() == ["ab" * 32] and hashed.tensors is model.tensors
    assert hashed.files.drop(columns="sha256").equals(model.files.drop(columns="sha256"))


@pytest.mark.parametrize(
    ("pair", "random"),
    [
        (made.pair("tracegen.random_weights", 7, b"\1"), True),
        (made.pair("tracegen.random_weights", 7, b"\0"), False),
        (made.string("general.description", "Random weights."), True),
        (made.string("general.name", "tiny (random weights)"), True),
        (made.string("general.name", "tiny"), None),
    ],
)
def test_random_weights_are_known_where_the_file_says_so(tmp_path: Path, pair: bytes, random: bool | None) -> None:
    assert read_model(written(tmp_path, made.file(ONE, [pair]))).random_weights is random


# What is wrong


def test_a_file_cut_anywhere_is_refused_and_nothing_else(tmp_path: Path) -> None:
    pairs = [*LLAMA, made.array("a", 8, 2, made.text("ab") + made.text("c")), made.array("b", 4, 2, bytes(8))]
    data = made.file({"a": ((4, 2), 0, 32), "blk.1.b": ((32,), 2, 18)}, pairs)
    end = data.rindex(b"\xaa") + 1
    for n in range(end):
        message = refusal(tmp_path, data[:n])
        assert "missing" in message or "remain" in message
    read_model(written(tmp_path, data[:end]))


def test_a_cut_says_where_and_how_much(tmp_path: Path) -> None:
    data = made.file({"first": ((64,), 0, 256), "second": ((64,), 0, 256)})
    message = refusal(tmp_path, data[:-300])
    assert f"is cut at offset {len(data) - 300}, in or before the tensor 'first': 300 bytes are missing" in message
    assert "'second'" in refusal(tmp_path, data[:-1])


TEXT_OF_ABSURD_LENGTH = struct.pack("<Q", 2**63)
INFO = made.tensor("a", (4,), 0, 0)
BROKEN = {
    "EMPTY": (b"", "is cut in its header: the magic number at offset 0 takes 4 bytes, 4 of them are missing"),
    "BAD_MAGIC": (made.header(magic=b"GGML"), "is not a GGUF file: it begins with b'GGML'"),
    "OLD_VERSION": (made.header(version=1), "is a version 1 GGUF file"),
    "BIG_ENDIAN": (made.header(version=3 << 24), "is a big-endian GGUF file"),
    "ABSURD_TENSORS": (made.header(counts=(2**63, 0)), "announces 9223372036854775808 tensors"),
    "ABSURD_PAIRS": (made.header(counts=(0, 2**40)), "announces 0 tensors and 1099511627776 metadata pairs"),
    "ABSURD_KEY": (made.header([TEXT_OF_ABSURD_LENGTH + bytes(9)]), "a metadata key has 9223372036854775808 bytes"),
    "ABSURD_TEXT": (made.header([made.pair("k", 8, TEXT_OF_ABSURD_LENGTH)]), "are missing"),
    "ABSURD_ARRAY": (made.header([made.array("k", 4, 2**62, b"")]), "the array 'k' at offset"),
    "ABSURD_WORDS": (made.header([made.array("k", 8, 2**62, b"")]), "the array 'k' at offset"),
    "ABSURD_SHAPE": (made.header(tensors=[made.tensor("a", (2**40, 2**40), 0, 0)]), "has an impossible shape"),
    "ABSURD_OFFSET": (made.header(tensors=[made.tensor("a", (4,), 0, 2**63)]), "or offset 9223372036854775808"),
    "KEY_NOT_UTF8": (made.header([made.pair(b"\xff", 0, b"\0")]), "a metadata key is not UTF-8"),
    "TEXT_NOT_UTF8": (made.header([made.string("k", b"\xff")]), "the value of 'k' is not UTF-8"),
    "NAME_NOT_UTF8": (made.header(tensors=[made.tensor(b"\xff", (4,), 0, 0)]), "a tensor name is not UTF-8"),
    "LONG_NAME": (made.header(tensors=[made.tensor("a" * 64, (4,), 0, 0)]), "a tensor name has 64 bytes"),
    "TWO_KEYS": (made.header([made.u32("k", 1)] * 2), "the metadata key 'k' occurs twice"),
    "TWO_TENSORS": (made.padded(made.header(tensors=[INFO, made.tensor("a", (4,), 0, 32)])) + bytes(64), "twice"),
    "NO_SUCH_TYPE": (made.header([made.pair("k", 13, bytes(8))]), "the value of 'k' has the type 13"),
    "NESTED_ARRAY": (made.header([made.array("k", 9, 1, bytes(16))]), "has elements of type 9"),
    "BAD_BOOL": (made.header([made.pair("k", 7, b"\2")]), "the value of 'k' is 2, but a bool must be 0 or 1"),
    "TOO_MANY_DIMS": (made.header(tensors=[made.tensor("a", (1,) * 5, 0, 0)]), "has 5 dimensions, but at most 4 are"),
    "ABSURD_DIMS": (made.header(tensors=[made.text("a") + struct.pack("<IQQ", 2**31, 0, 0)]), "2147483648 dimen"),
    "NO_SUCH_DTYPE": (made.header(tensors=[made.tensor("a", (4,), 99, 0)]), "has the ggml type 99"),
    "REMOVED_DTYPE": (made.header(tensors=[made.tensor("a", (32,), 4, 0)]), "has the ggml type 4"),
    "HALF_A_BLOCK": (made.header(tensors=[made.tensor("a", (33,), 2, 0)]), "rows of 33 elements, but Q4_0 needs"),
    "NOT_ALIGNED": (made.header(tensors=[made.tensor("a", (4,), 0, 8)]), "is not aligned to 32"),
    "BAD_ALIGNMENT": (made.header([made.u32("general.alignment", 24)]), "is 24, not a power of two"),
    "NO_ALIGNMENT": (made.header([made.u32("general.alignment", 0)]), "is 0, not a power of two"),
    "OVERLAP": (
        made.padded(made.header(tensors=[made.tensor("a", (16,), 0, 0), made.tensor("b", (4,), 0, 32)])) + bytes(64),
        "64 bytes) and 'b'",
    ),
    "ABSURD_SPLITS": (
        made.header([made.u16("split.no", 0), made.pair("split.count", 10, struct.pack("<Q", 2**60))]),
        "a model has at most 99999 splits",
    ),
    "COUNT_IS_TEXT": (made.header([LLAMA[0], made.string("llama.block_count", "7")]), "is '7', not a count"),
    "NAME_IS_NUMBER": (made.header([made.u32("general.name", 7)]), "'general.name' is 7, not a text"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files(tmp_path: Path, case: str) -> None:
    data, message = BROKEN[case]
    assert message in refusal(tmp_path, data)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "no.gguf", tmp_path):
        with pytest.raises(ModelFormatError, match=r"cannot be read|is not a regular file"):
            read_model(path)


GOOD = made.file(ONE | {"b": ((32,), 2, 18)}, [*LLAMA, made.array("a", 8, 1, made.text("ab"))])


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(GOOD) - 1), st.binary(min_size=1, max_size=8))
def test_any_bytes_give_a_model_or_a_model_format_error(tmp_path: Path, at: int, patch: bytes) -> None:
    path = written(tmp_path, GOOD[:at] + patch + GOOD[at + len(patch) :])
    try:
        read_model(path)
    except ModelFormatError as error:
        assert str(path) in str(error)


# Splits


def split_pair(number: int, count: int, n_tensors: int = 2) -> list[bytes]:
    total = made.pair("split.tensors.count", 5, struct.pack("<i", n_tensors))
    return [made.u16("split.no", number), made.u16("split.count", count), total]


def write_split(tmp_path: Path, second: bytes | None = None) -> list[Path]:
    first = made.file({"token_embd.weight": ((32, 3), 2, 54)}, [*LLAMA, *split_pair(0, 2)])
    second = second or made.file(ONE, split_pair(1, 2))
    return [written(tmp_path, data, f"m-0000{i}-of-00002.gguf") for i, data in ((1, first), (2, second))]


@pytest.mark.parametrize("given", [0, 1])
def test_a_split_model_is_one_model_whichever_file_is_named(tmp_path: Path, given: int) -> None:
    paths = write_split(tmp_path)
    model = read_model(paths[given])
    size = paths[0].stat().st_size
    assert model.paths == tuple(paths) and list(model.files["axis_begin"]) == [0, size]
    assert list(model.files["path"]) == [path.name for path in paths] and list(model.tensors["file"]) == [0, 1]
    assert model.n_layers == 7 and list(model.tensors["offset"]) == list(model.data_begin)


def test_a_missing_split_is_named(tmp_path: Path) -> None:
    first, second = write_split(tmp_path)
    second.unlink()
    with pytest.raises(ModelFormatError, match=r"split into 2 files, and 1 of them are missing .*: m-00002-of-00002"):
        read_model(first)


def test_a_renamed_split_gets_its_name_in_the_error(tmp_path: Path) -> None:
    first, _ = write_split(tmp_path)
    with pytest.raises(ModelFormatError, match=r"rename it to NAME-00001-of-00002\.gguf"):
        read_model(first.rename(tmp_path / "m.gguf"))


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (made.file(ONE, split_pair(0, 2)), r"split\.no or split\.count differs from the file name"),
        (made.file(ONE), r"split\.no or split\.count differs from the file name"),
        (made.file(ONE | {"c": ((1,), 0, 4)}, split_pair(1, 2)), "announces 2 tensors, but its 2 files hold 3"),
        (
            made.file({"token_embd.weight": ((1,), 0, 4)}, split_pair(1, 2)),
            "'token_embd.weight' occurs twice, also in m-00001-of-00002.gguf",
        ),
        (made.file(ONE, split_pair(1, 2))[:-4], "m-00002-of-00002.gguf: is cut at offset"),
    ],
)
def test_splits_that_do_not_fit(tmp_path: Path, second: bytes, message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        read_model(write_split(tmp_path, second)[0])


def test_splits_written_by_the_gguf_package(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    whole = read_model(write_demo_model("demo", tmp_path / "w.gguf")[0]).tensors
    parts = read_model(write_demo_model("demo", tmp_path / "s.gguf", split=True)[0])
    same = ["tensor", "name", "size_bytes", "dtype", "ne0", "ne1", "component"]
    assert parts.tensors[same].equals(whole[same]) and set(parts.tensors["file"]) == {0, 1}
