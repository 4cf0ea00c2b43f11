/* SPDX-License-Identifier: MIT */
/*
 * The search. Only the code decides what is a site: which functions call pthread_cond_timedwait,
 * pthread_cond_signal and the mutex functions, and in which order. Symbols give the ranges of the
 * functions, and nothing else, so that ranges from another source serve as well.
 */
#include "python/gil_sites.h"

#include <errno.h>
#include <inttypes.h>

#include "base/log.h"
#include "python/gil_argument.h"
#include "python/gil_code.h"
#include "python/gil_flow.h"

struct search {
	struct gt_gil_code code;
	struct gt_gil_landmarks landmarks;
	gt_gil_calls releases;
	/* Virtual addresses, until the end. */
	struct gt_gil_sites sites;
};

static void search_clear(struct search *search)
{
	gt_gil_code_clear(&search->code);
	gt_hash_clear(&search->landmarks.takes);
	gt_hash_clear(&search->landmarks.callees);
	gt_array_clear(&search->landmarks.callers);
	gt_array_clear(&search->releases);
	gt_gil_sites_clear(&search->sites);
}

const char *gt_gil_site_name(enum gt_gil_site_kind kind)
{
	static const char *const names[GT_GIL_SITE_KINDS] = {
		[GT_GIL_SITE_TAKE] = "take",	   [GT_GIL_SITE_ACQUIRED] = "acquired",
		[GT_GIL_SITE_RELEASE] = "release", [GT_GIL_SITE_SWITCHED] = "switched",
		[GT_GIL_SITE_RETAKE] = "retake",
	};

	return kind < GT_GIL_SITE_KINDS ? names[kind] : NULL;
}

void gt_gil_sites_clear(struct gt_gil_sites *sites)
{
	for (uint32_t kind = 0; kind < GT_GIL_SITE_KINDS; kind++)
		gt_array_clear(&sites->offsets[kind]);
	sites->found_by = NULL;
}

static int add_site(struct search *search, enum gt_gil_site_kind kind, uint64_t address)
{
	uint64_t *added = gt_array_push(&search->sites.offsets[kind]);

	if (!added)
		return gt_error_oom();
	*added = address;
	return 0;
}

static const struct gt_elf_function *whole_function(struct search *search,
						    const struct gt_gil_call *call)
{
	return &search->code.functions.items[gt_gil_code_whole(&search->code, call->function)];
}

/* A function that waits for a condition with a time limit is take_gil, or a copy of it. */
static int find_takes(struct search *search)
{
	int r;

	gt_array_for_each (&search->code.calls, call) {
		uint64_t entry;

		if (call->callee != GT_GIL_CALLEE_COND_TIMEDWAIT)
			continue;
		entry = whole_function(search, call)->start;
		if (gt_hash_get(&search->landmarks.takes, entry) != GT_HASH_NONE)
			continue;
		r = gt_hash_set(&search->landmarks.takes, entry, 0);
		if (r < 0)
			return gt_error_oom();
		r = add_site(search, GT_GIL_SITE_TAKE, entry);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * take_gil signals switch_cond. From 3.9 on it drops the GIL again when the interpreter is shutting
 * down; where drop_gil is inlined there, it signals cond too: the object that it has waited for.
 * Where the code does not tell the objects apart, it is taken for the former: the latter is the
 * last act of a thread, and rare.
 */
static bool signals_what_it_waits_for(struct search *search, const struct gt_gil_call *signal)
{
	const struct gt_elf_function *function = whole_function(search, signal);
	struct gt_argument signalled = gt_gil_argument(&search->code, signal);

	if (signalled.kind == GT_ARGUMENT_UNKNOWN)
		return false;
	gt_array_for_each (&search->code.calls, call) {
		struct gt_argument awaited;

		if (call->callee != GT_GIL_CALLEE_COND_TIMEDWAIT ||
		    whole_function(search, call) != function)
			continue;
		awaited = gt_gil_argument(&search->code, call);
		if (gt_gil_arguments_equal(&signalled, &awaited))
			return true;
	}
	return false;
}

/* Tells the calls of pthread_cond_signal apart: acquired, or a release unless the flow refutes it.
 */
static int find_signals(struct search *search)
{
	int r;

	gt_array_for_each (&search->code.calls, call) {
		struct gt_gil_call *release;
		uint64_t entry;

		if (call->callee != GT_GIL_CALLEE_COND_SIGNAL)
			continue;
		entry = whole_function(search, call)->start;
		if (gt_hash_get(&search->landmarks.takes, entry) != GT_HASH_NONE &&
		    !signals_what_it_waits_for(search, call)) {
			r = add_site(search, GT_GIL_SITE_ACQUIRED, call->address);
			if (r < 0)
				return r;
			continue;
		}
		release = gt_array_push(&search->releases);
		if (!release)
			return gt_error_oom();
		*release = *call;
	}
	return 0;
}

/* Finds who calls the functions that hold a release: drop_gil's callers, for one. */
static int find_callers(struct search *search)
{
	struct gt_hash *callees = &search->landmarks.callees;

	gt_array_for_each (&search->releases, release) {
		uint64_t entry = whole_function(search, release)->start;

		if (gt_hash_get(callees, entry) == GT_HASH_NONE &&
		    gt_hash_set(callees, entry, callees->count) < 0)
			return gt_error_oom();
	}
	if (callees->count == 0)
		return 0;
	return gt_gil_code_find_calls(&search->code, callees, &search->landmarks.callers);
}

static int follow_releases(struct search *search)
{
	int r;

	gt_array_for_each (&search->releases, release) {
		_cleanup_(gt_gil_aftermath_clear) struct gt_gil_aftermath aftermath = {0};

		r = gt_gil_flow_follow(&search->code, &search->landmarks, release, &aftermath);
		if (r < 0)
			return r;
		if (!aftermath.unlocks)
			continue;
		r = add_site(search, GT_GIL_SITE_RELEASE, release->address);
		if (r < 0)
			return r;
		gt_array_for_each (&aftermath.switched, address) {
			r = add_site(search, GT_GIL_SITE_SWITCHED, *address);
			if (r < 0)
				return r;
		}
		gt_array_for_each (&aftermath.retakes, address) {
			r = add_site(search, GT_GIL_SITE_RETAKE, *address);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int compare_offsets(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Turns addresses into sorted file offsets without duplicates. */
static void finish_sites(const struct gt_elf *elf, gt_gil_offsets *sites)
{
	uint32_t kept = 0;

	gt_array_for_each (sites, address) {
		uint64_t offset;

		if (gt_elf_address_to_offset(elf, *address, &offset))
			sites->items[kept++] = offset;
	}
	sites->count = kept;
	if (kept == 0)
		return;
	qsort(sites->items, kept, sizeof(*sites->items), compare_offsets);
	kept = 1;
	for (uint32_t i = 1; i < sites->count; i++)
		if (sites->items[i] != sites->items[kept - 1])
			sites->items[kept++] = sites->items[i];
	sites->count = kept;
}

static int check_complete(const struct gt_elf *elf, const struct gt_gil_sites *sites)
{
	for (uint32_t kind = 0; kind < GT_GIL_SITE_KINDS; kind++) {
		gt_debug("%s: %" PRIu32 " %s sites", gt_elf_path(elf), sites->offsets[kind].count,
			 gt_gil_site_name((enum gt_gil_site_kind)kind));
		if (sites->offsets[kind].count > 0 || kind == GT_GIL_SITE_RETAKE)
			continue;
		gt_error("cannot find the GIL in %s: no code that looks like its %s\n"
			 "  giltrace knows the GIL of CPython 3.6 to 3.15 on Linux; is this one?",
			 gt_elf_path(elf), gt_gil_site_name((enum gt_gil_site_kind)kind));
		return -ENODATA;
	}
	return 0;
}

static int read_functions(const struct gt_elf *elf, gt_elf_functions *ret)
{
	int r;

	r = gt_elf_symbols_read(elf, ret);
	if (r < 0)
		return r;
	if (ret->count > 0)
		return 0;
	gt_array_clear(ret);
	gt_error(
		"cannot find the GIL in %s: it is stripped\n"
		"  giltrace needs the symbols of take_gil and drop_gil in it: use a Python that is "
		"not stripped\n"
		"  (pyenv builds such), and name it with --python",
		gt_elf_path(elf));
	return -ENODATA;
}

int gt_gil_sites_find(struct gt_elf *elf, struct gt_gil_sites *ret)
{
	_cleanup_(search_clear) struct search search = {0};
	gt_elf_functions functions = {0};
	int r;

	r = read_functions(elf, &functions);
	if (r < 0)
		return r;
	r = gt_gil_code_read(elf, &functions, &search.code);
	if (r < 0)
		return r;
	r = find_takes(&search);
	if (r < 0)
		return r;
	r = find_signals(&search);
	if (r < 0)
		return r;
	r = find_callers(&search);
	if (r < 0)
		return r;
	r = follow_releases(&search);
	if (r < 0)
		return r;
	for (uint32_t kind = 0; kind < GT_GIL_SITE_KINDS; kind++)
		finish_sites(elf, &search.sites.offsets[kind]);
	r = check_complete(elf, &search.sites);
	if (r < 0)
		return r;
	*ret = search.sites;
	ret->found_by = "symbols";
	search.sites = (struct gt_gil_sites){0};
	return 0;
}
