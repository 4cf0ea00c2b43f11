"""Tests of measured times: what else a machine does shows in them, and is no fault of the program's."""

import functools
import warnings

TRIES = 3


class DisturbedWarning(UserWarning):
    """pytest lists them at the end of its run: a test that needs them often is not a good one."""


def undisturbed(test):
    """Tries a test again when an assertion of its own fails.

    What has to be true on any machine raises something else, and fails at once: what is said of a
    timeline (timeline.BrokenTimelineError), and a giltrace that does not end (hangs.HangError).
    """

    @functools.wraps(test)
    def try_it(*arguments, **fixtures):
        for attempt in range(1, TRIES):
            try:
                return test(*arguments, **fixtures)
            except AssertionError as error:
                said = str(error).partition("\n")[0]
                warnings.warn(f"try {attempt} of {TRIES}: {said}", DisturbedWarning, stacklevel=2)
        return test(*arguments, **fixtures)

    return try_it
