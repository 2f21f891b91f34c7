"""`tracegen doctor`: each finding is what happens where it is tried in earnest; what is refused comes with advice."""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tracegen.cli.main import main
from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.measure import doctor
from tracegen.measure.capture import limited, locked

NOBODY = 65_534


def found(what: str) -> doctor.Finding:
    (finding,) = (finding for finding in doctor.findings() if finding.what.startswith(what))
    return finding


def test_every_finding_is_printed_and_what_is_refused_comes_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)
    assert len(findings) == 10 and all(finding["advice"] for finding in findings if finding["state"] == "in part")
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for finding in findings:
        assert any(line.startswith(finding["state"]) and finding["what"] in line for line in lines)
        assert not finding["advice"] or f"{finding['what']}: {finding['advice']}" in lines


@pytest.mark.parametrize("error", [errno.EACCES, errno.EPERM, errno.ENOSYS])
def test_page_faults_that_the_kernel_refuses(monkeypatch: pytest.MonkeyPatch, error: int) -> None:
    monkeypatch.setattr(doctor, "_perf_error", lambda: error)
    finding = found("page faults")
    assert finding.state == "no" and os.strerror(error) in finding.found and "perf_event_paranoid=2" in finding.advice


def test_a_machine_without_compilers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert found("any program").state == found("llama.cpp with the hooks").state == "no"
    assert "apt install g" in found("any program").advice


def test_a_cache_folder_that_cannot_be_preloaded_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "my cache"))
    assert found("any program").state == "no" and "XDG_CACHE_HOME" in found("any program").advice


def test_what_settings_say_when_they_are_used_is_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        limited.refuse_limit(0.1)
        assert found("a limit of memory").state == "yes"
    except (SettingsError, EnvironmentFailure) as error:
        finding = found("a limit of memory")
        assert finding.state == "no" and f"{finding.found}; {finding.advice}" in str(error)
    monkeypatch.setattr(locked, "allowed_bytes", lambda: 8 << 20)
    assert found("memory that other").state == "in part" and "8.00 MiB" in found("memory that other").found


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="takes root to become another user")
def test_another_user_than_root(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", sys.executable]
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    script = "import sys; from tracegen.cli.main import main; sys.exit(main(['doctor', '--json']))"
    if subprocess.run([*command, "-c", "import tracegen"], env=environment, cwd="/", check=False).returncode:
        pytest.skip("another user cannot read this checkout")
    done = subprocess.run(
        [*command, "-c", script], env=environment, cwd="/", check=True, capture_output=True, text=True
    )
    states = {finding["what"]: finding for finding in json.loads(done.stdout)}
    requests = next(finding for what, finding in states.items() if what.startswith("requests of disks"))
    assert requests["state"] == "no" and requests["advice"] == "run tracegen as root"
