/* SPDX-License-Identifier: MIT */
#include "record/kernel_number.h"

#include <stdlib.h>

#include "base/io.h"
#include "base/macros.h"

int gt_kernel_number_read(const char *path, long long *ret)
{
	_cleanup_free_ char *text = NULL;
	int r = gt_read_file(path, 64, &text, NULL);

	if (r < 0)
		return r;
	*ret = strtoll(text, NULL, 10);
	return 0;
}
