/* SPDX-License-Identifier: MIT */
/* What --help prints. */
#pragma once

extern const char gt_help[];
