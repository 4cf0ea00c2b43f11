"""Programs that were not written for giltrace run under the agent as they do without it."""

import os
import re
import subprocess
from pathlib import Path

import pytest

import interpreters
from runner import agent_file, unsanitized

AGENT = ("--probe", "agent")

# Those that are quick. GILTRACE_TEST_MODULES names others, to be tried by hand: they take minutes.
MODULES = os.environ.get("GILTRACE_TEST_MODULES", "test_thread test_queue test_threading").split()

# What every libc has had since glibc 2.17, under the oldest of its versions.
MAY_NEED = set(
    "__errno_location clock_gettime close dl_iterate_phdr getenv getpid getrlimit64 madvise memcmp "
    "memcpy memset mmap64 munmap open64 prctl readlink strchr syscall sysconf".split()
)
MAY_USE = set(
    "__libc_dlopen_mode __libc_dlsym __libc_single_threaded __pthread_mutex_lock "
    "__pthread_mutex_unlock dlopen dlsym dlvsym pthread_key_create pthread_setspecific".split()
)


def compile_c(tmp_path, name, code, *options):
    source = tmp_path / f"{name}.c"
    source.write_text(code)
    done = subprocess.run(["cc", "-O1", "-o", tmp_path / name, source, *options])
    if done.returncode != 0:
        pytest.skip(f"no C compiler that makes {' '.join(options)}")
    return tmp_path / name


def has_modules(interpreter):
    code = "import importlib, sys; [importlib.import_module('test.' + m) for m in sys.argv[1:]]"
    done = subprocess.run([interpreter.path, "-c", code, *MODULES], capture_output=True)
    return done.returncode == 0


def results(output):
    """What regrtest says of each module, without the times."""
    return sorted(set(re.findall(r"\] (test_\w+)(?: (passed|failed|skipped|crashed))?", output)))


def test_standard_library(giltrace, python):
    if not has_modules(python):
        pytest.skip("this Python has no tests of its own")
    code = ["-m", "test", *MODULES]
    plain = subprocess.run(
        [python.path, *code], capture_output=True, text=True, cwd=giltrace.folder
    )
    traced = giltrace.run(
        "record", "-q", "--keep-data", "data", *AGENT, "--python", python.path, *code
    )
    output = traced.stdout.decode()
    assert traced.status == plain.returncode, output
    assert results(output) == results(plain.stdout)


def test_agent_needs_no_library():
    done = subprocess.run(["readelf", "-dW", agent_file()], capture_output=True, text=True)
    assert done.returncode == 0
    assert "NEEDED" not in done.stdout


def test_agent_needs_what_every_libc_has():
    done = subprocess.run(["nm", "-D", agent_file()], capture_output=True, text=True, check=True)
    needed = set(re.findall(r"^ +U (\S+)$", done.stdout, re.M))
    used = set(re.findall(r"^ +w (\S+)$", done.stdout, re.M))
    assert needed <= MAY_NEED
    assert used <= MAY_USE


@unsanitized
def test_allocator_that_locks(giltrace, any_interpreter):
    """Looking up a function may allocate; an allocator may lock; and that may look it up."""
    folder = giltrace.folder_for(any_interpreter)
    library = compile_c(folder, "mal.so", ALLOCATOR, "-shared", "-fPIC")
    environment = {**os.environ, "LD_PRELOAD": str(any_interpreter.inside(library))}
    if any_interpreter.root != "/":
        # Programs on the way, in this root, do not find it, and say so.
        environment["LD_PRELOAD"] += f":{library}"
    result = giltrace.run(
        *["record", "-q", "--keep-data", "data", *AGENT, "--python", any_interpreter.path],
        *[
            "-c",
            "import subprocess, sys; subprocess.check_call([sys.executable, '-c', 'print(1)'])",
        ],
        env=environment,
    )
    assert (result.status, result.stdout) == (0, b"1\n"), result.stderr


def test_subprocess_with_a_sanitizer(giltrace, python, tmp_path):
    program = compile_c(tmp_path, "sanitized", "int main(void) { return 7; }", "-fsanitize=address")
    if subprocess.run([program]).returncode != 7:
        pytest.skip("programs with AddressSanitizer do not run here")
    code = f"import subprocess, sys; sys.exit(subprocess.call([{str(program)!r}]))"
    result = giltrace.run(
        "record", "-q", "--keep-data", "data", *AGENT, "--python", python.path, "-c", code
    )
    assert result.status == 7, result.stderr


def test_symbols_bound_at_once(giltrace, any_interpreter):
    code = "import subprocess, sys; sys.exit(subprocess.call(['true']))"
    result = giltrace.run(
        *["record", "-q", "--keep-data", "data", *AGENT, "--python", any_interpreter.path],
        *["-c", code],
        env={**os.environ, "LD_BIND_NOW": "1"},
    )
    assert result.status == 0, result.stderr


@unsanitized
def test_another_end_of_the_program(giltrace, python, tmp_path):
    """Others who stand in front of _exit are called, too."""
    library = compile_c(tmp_path, "exit.so", EXIT, "-shared", "-fPIC")
    result = giltrace.run(
        *["record", "-q", "--keep-data", "data", *AGENT, "--python", python.path],
        *["-c", "import os; os._exit(3)"],
        env={**os.environ, "LD_PRELOAD": str(library)},
    )
    assert (result.status, result.stdout) == (3, b"mine"), result.stderr


@unsanitized
def test_little_address_space(giltrace, python):
    """Nothing is traced in a process that needs its addresses for itself."""
    code = "import resource; print(len(bytearray(50 << 20)))"
    shell = 'ulimit -v 200000; exec "$0" "$@"'
    result = giltrace.run(
        *["record", "--keep-data", "data", *AGENT, "--python", python.path, "-c", code],
        prefix=["sh", "-c", shell],
    )
    if result.status == 125:
        pytest.skip("giltrace itself has no room")
    assert (result.status, result.stdout) == (0, b"52428800\n"), result.stderr


def test_processes_that_replace_themselves(giltrace, python):
    """Thirty at once, with the numbers that the ones before had."""
    script = giltrace.folder / "again.py"
    script.write_text(AGAIN)
    giltrace.timelines = False
    result = giltrace.trace(*AGENT, "--python", python.path, script)
    counts = sorted(
        sum(thread["acquired"] for thread in process["threads"])
        for process in result.summary["processes"]
    )
    assert result.summary["lost"] == 0
    assert len([count for count in counts if count >= 40000]) == 20, counts


def test_newer_names(giltrace):
    """From 3.14 on threads tell their names, after their first moment."""
    newer = [i for i in interpreters.find_interpreters() if i.minor >= 14]
    if not newer:
        pytest.skip("no Python of 3.14 or later was found")
    code = (
        "import threading, time\n"
        "t = threading.Thread(target=time.sleep, args=(0.1,), name='sleeper')\n"
        "t.start(); t.join()"
    )
    prefix = ("/usr/bin/python3", Path(__file__).parent / "without_perf.py")
    for way in ((), prefix):
        result = giltrace.trace(*AGENT, "--python", newer[0].path, "-c", code, prefix=way)
        names = [t["name"] for p in result.summary["processes"] for t in p["threads"]]
        assert "sleeper" in names


ALLOCATOR = """
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *next, *end;
void *malloc(size_t size)
{
    char *found;
    size = (size + 31) & ~(size_t)15;
    pthread_mutex_lock(&mutex);
    if (!next || next + size > end) {
        size_t all = size + ((size_t)64 << 20);
        next = mmap(0, all, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        end = next + all;
    }
    found = next;
    next += size;
    *(size_t *)found = size - 16;
    pthread_mutex_unlock(&mutex);
    return found + 16;
}
void free(void *memory) { (void)memory; }
void *calloc(size_t count, size_t size) { return memset(malloc(count * size), 0, count * size); }
void *realloc(void *old, size_t size)
{
    void *memory = malloc(size);
    if (old) {
        size_t had = *(size_t *)((char *)old - 16);
        memcpy(memory, old, had < size ? had : size);
    }
    return memory;
}
"""

EXIT = """
#include <sys/syscall.h>
#include <unistd.h>
void _exit(int status)
{
    (void)!write(1, "mine", 4);
    for (;;)
        syscall(SYS_exit_group, status);
}
"""

AGAIN = """
import os, sys
null = os.open(os.devnull, os.O_WRONLY)
def loop():
    for _ in range(20000): os.write(null, b"")
if len(sys.argv) > 1:
    loop(); sys.exit()
children = []
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        loop()
        os.execv(sys.executable, [sys.executable, sys.argv[0], "again"])
    children.append(pid)
for pid in children:
    assert os.waitpid(pid, 0)[1] == 0
"""
