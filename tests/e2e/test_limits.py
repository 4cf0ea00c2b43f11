"""What limits on resources leave of a recording: the program runs in any case."""

import resource

import pytest

# Lets go of the GIL as often as it is told to.
PROGRAM = """
import os, sys
null = os.open(os.devnull, os.O_WRONLY)
for _ in range(int(sys.argv[1])):
    os.write(null, b"")
print("done")
"""


@pytest.fixture
def limited(giltrace, python):
    def run(limit, size, *options, turns=10):
        return giltrace.run(
            *options,
            *("--python", python.path, "-c", PROGRAM, str(turns)),
            preexec_fn=lambda: resource.setrlimit(limit, (size, size)),
        )

    return run


def test_no_memory_for_the_agent(limited):
    result = limited(resource.RLIMIT_FSIZE, 20 << 20, "--probe", "agent")
    assert result.status == 0, result.stderr
    assert result.stdout
    assert "the GIL is not watched: cannot make the memory for the agents" in result.stderr
    assert "--buffer-size" in result.stderr


def test_less_memory_for_the_agent(limited):
    result = limited(resource.RLIMIT_FSIZE, 20 << 20, "--probe", "agent", "--buffer-size", "8M")
    assert result.status == 0, result.stderr
    assert "not watched" not in result.stderr


def test_the_kernel_watches_alone(limited):
    result = limited(resource.RLIMIT_FSIZE, 20 << 20, "--probe", "both")
    assert result.status == 0, result.stderr
    assert "only the kernel's probes watch the GIL: cannot make the memory" in result.stderr


def test_events_that_cannot_be_written(limited):
    """The program goes on to its end, and one message says what is missing."""
    result = limited(resource.RLIMIT_FSIZE, 1 << 20, "--probe", "uprobe", turns=100_000)
    assert result.status == 125
    assert result.stdout
    assert result.stderr.count("cannot write") == 1
    assert "File too large" in result.stderr
