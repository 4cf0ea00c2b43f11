"""What `meson install` puts where, and the scripts that people call from a clone."""

import json
import os
import shutil
import subprocess
import time

import pytest

import probes
from runner import ROOT, program

BUILD = program().parent.parent
LAUNCHER = ROOT / "scripts" / "giltrace"


def test_meson_install(giltrace):
    if not (BUILD / "build.ninja").exists():
        pytest.skip(f"{BUILD} is no build folder")
    subprocess.run(
        ["/usr/bin/meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", giltrace.folder],
        check=True,
        capture_output=True,
    )
    installed = {
        str(path.relative_to(giltrace.folder / "usr" / "local"))
        for path in giltrace.folder.rglob("*")
        if path.is_file()
    }
    agent = next(giltrace.folder.rglob("libgiltrace-agent.so"))
    assert agent.parent.name == "giltrace" and "lib" in str(agent.parent)
    assert installed == {
        "bin/giltrace",
        str(agent.relative_to(giltrace.folder / "usr" / "local")),
        "share/man/man1/giltrace.1",
        "share/bash-completion/completions/giltrace",
        "share/zsh/site-functions/_giltrace",
        "share/fish/vendor_completions.d/giltrace.fish",
    }
    binary = giltrace.folder / "usr/local/bin/giltrace"
    assert subprocess.check_output([binary, "--version"]) == b"giltrace 0.1.0\n"
    doctor = giltrace.run("doctor", "--json", binary=binary)
    assert json.loads(doctor.stdout)["agent"]["file"] == str(agent), "it finds its own"


@pytest.fixture(scope="module")
def built():
    """The launcher's own build, made when it is missing."""
    subprocess.run([LAUNCHER, "--version"], check=True, capture_output=True)


@pytest.mark.usefixtures("built")
class TestLauncher:
    def run(self, *arguments, launcher=LAUNCHER, **options):
        return subprocess.run([launcher, *arguments], capture_output=True, timeout=60, **options)

    def test_keeps_arguments_streams_and_environment(self, tmp_path, python):
        code = (
            "import os, sys\n"
            "print(list(map(os.fsencode, sys.argv[1:])), sys.stdin.read())\n"
            "print(sorted(name for name in os.environ if 'gil' in name.lower()))"
        )
        arguments = ["-q", "--python", python.path, "-c", code, b"", b"\xff", b"a b", b"*", b"-q"]
        done = self.run(*arguments, input=b"given", cwd=tmp_path)
        names = b"[]" if "GILTRACE" not in os.environ else b"['GILTRACE']"
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[0] == b"[b'', b'\\xff', b'a b', b'*', b'-q'] given"
        assert done.stdout.splitlines()[1] == names
        assert done.stderr == b""

    def test_through_a_symlink_and_from_anywhere(self, tmp_path):
        link = tmp_path / "link"
        link.symlink_to(LAUNCHER)
        done = self.run("--version", launcher="./link", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, b"giltrace 0.1.0\n"), done.stderr

    def test_becomes_giltrace(self, tmp_path):
        """By exec: signals sent to it must arrive."""
        process = subprocess.Popen(
            [LAUNCHER, "-q", "-c", "import time; time.sleep(20)"], cwd=tmp_path
        )
        deadline = time.monotonic() + 20
        while not probes.definitions(f"giltrace_{process.pid}"):
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.02)
        process.terminate()
        process.wait(20)
        assert not probes.definitions(f"giltrace_{process.pid}")

    def test_plain_user_uses_the_build_that_is_there(self, plain_user, open_folder):
        """Of a clone that is not theirs, nothing is written and nothing asked of root."""
        clone = open_folder / "clone"
        shutil.copytree(ROOT, clone, symlinks=True, ignore=self.not_needed)
        done = self.run(
            *["--version"],
            launcher=clone / "scripts" / "giltrace",
            cwd=open_folder,
            user=plain_user.pw_uid,
            group=plain_user.pw_gid,
            extra_groups=[],
            env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
        )
        assert (done.returncode, done.stdout) == (0, b"giltrace 0.1.0\n"), done.stderr

    @staticmethod
    def not_needed(folder, names):
        if os.path.realpath(folder) == str(ROOT):
            return [n for n in names if n.startswith((".git", "build-", "node_modules"))]
        return []
