/* SPDX-License-Identifier: MIT */
/* giltrace's own exit statuses, as env(1) and timeout(1) have them. Else it exits as the target
 * did. */
#pragma once

enum {
	GT_EXIT_FAILURE = 125,	      /* giltrace itself failed */
	GT_EXIT_CANNOT_EXECUTE = 126, /* the interpreter or script is there, but cannot be run */
	GT_EXIT_NOT_FOUND = 127,
};
