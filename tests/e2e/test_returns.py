"""Where the code of an interpreter is unknown, and symbols name its functions."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from undisturbed import undisturbed

# Under another name, the call that tells take_gil is one of a function that nobody knows.
KNOWN, UNKNOWN = b"pthread_cond_timedwait\0", b"pthread_cond_timedwaiX\0"
SHIM = """
#include <pthread.h>
int pthread_cond_timedwaiX(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until);
int pthread_cond_timedwaiX(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
	return pthread_cond_timedwait(cond, mutex, until);
}
"""


@pytest.fixture
def unknown_code(python, tmp_path):
    """An environment in which an interpreter has a libpython whose code looks like no GIL."""
    library = Path(python.gil_file)
    if not library.name.startswith("libpython") or not shutil.which("gcc"):
        pytest.skip("this needs an interpreter with a libpython, and gcc")
    image = library.read_bytes()
    assert KNOWN in image
    (tmp_path / library.name).write_bytes(image.replace(KNOWN, UNKNOWN))
    (tmp_path / "shim.c").write_text(SHIM)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", "shim.so", "shim.c"], cwd=tmp_path, check=True)
    return dict(
        os.environ,
        LD_LIBRARY_PATH=str(tmp_path),
        LD_PRELOAD=str(tmp_path / "shim.so"),
        # The sites of the library that was copied are known by the same build-id.
        XDG_CACHE_HOME=str(tmp_path / "cache"),
    )


@undisturbed
def test_estimates(giltrace, python, unknown_code):
    # The sanitizers' library has to be loaded first, and the shim would be.
    unknown_code["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    script = giltrace.script(python, "busy_threads")
    result = giltrace.trace(
        *["--python", python.path, script, giltrace.facts, "1", "2"], env=unknown_code
    )
    assert "figures are estimates" in result.stderr
    assert "Estimates: " in result.stderr
    assert result.summary["found_by"] == "returns"
    result.timeline.check()
    for window in result.facts["busy"]:
        thread = result.timeline.threads[window["tid"]]
        assert thread["switched"] is None
        assert result.timeline.wanted_share(window) >= 0.95
        assert 0.3 <= thread["has_gil_ns"] / thread["total_ns"] <= 0.7
