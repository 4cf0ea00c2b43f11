/* SPDX-License-Identifier: MIT */
/*
 * The values that options have behind them. Each returns 1, or a negative errno for one that is
 * wrong (logged).
 */
#pragma once

#include <stdint.h>

struct gt_options;

/* Bytes, with a K, M or G. */
int gt_option_parse_size(const char *text, uint64_t *ret);

/* Of a stack, likewise; rounded up to a multiple of 8. */
int gt_option_parse_stack_size(const char *text, uint32_t *ret);

/* The index of TEXT in WORDS, which end in NULL. OPTION is for the message. */
int gt_option_parse_word(const char *option, const char *text, const char *const words[], int *ret);

/* Seconds, with or without a fraction; more than none. */
int gt_option_parse_seconds(const char *option, const char *text, uint64_t *ret_ns);

/* Names with commas between them, added to those that OPTIONS has. */
int gt_option_parse_counters(const char *text, struct gt_options *options);
