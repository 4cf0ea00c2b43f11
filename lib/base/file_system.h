/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The kind of file system that PATH is on, "ext4" …, by /proc/self/mountinfo. The caller frees it.
 * -ENOENT when it is not in there; else a negative errno. Logs nothing.
 */
int gt_file_system_name(const char *path, char **ret_name);
