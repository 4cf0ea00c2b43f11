/* SPDX-License-Identifier: MIT */
/*
 * The search. Only the code decides what is a site: which functions call pthread_cond_timedwait,
 * pthread_cond_signal and the mutex functions, and in which order. Where functions start and end is
 * told by .eh_frame, and by symbols where that is missing; their names only say how sure the result
 * is.
 */
#include "python/gil_sites.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>

#include "base/log.h"
#include "base/strings.h"
#include "python/gil_calls.h"
#include "python/gil_code.h"
#include "python/gil_flow.h"
#include "python/gil_waits.h"

/*
 * An interpreter signals at up to 15 places, and a program with many libraries linked in at some
 * more. Each is compared to the others and followed: that takes time.
 */
#define MAX_SIGNALS 256

struct search {
	struct gt_gil_code code;
	struct gt_gil_landmarks landmarks;
	gt_gil_calls releases;
	uint64_t switch_distance; /* from cond to switch_cond, since 3.7; bytes */
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

int gt_gil_sites_add(struct gt_gil_sites *sites, enum gt_gil_site_kind kind, uint64_t address)
{
	uint64_t *added = gt_array_push(&sites->offsets[kind]);

	if (!added)
		return gt_error_oom();
	*added = address;
	return 0;
}

void gt_gil_sites_clear(struct gt_gil_sites *sites)
{
	for (uint32_t kind = 0; kind < GT_GIL_SITE_KINDS; kind++)
		gt_array_clear(&sites->offsets[kind]);
	gt_array_clear(&sites->calls);
	gt_array_clear(&sites->waits);
	sites->found_by = NULL;
}

static const struct gt_elf_function *whole_function(struct search *search,
						    const struct gt_gil_call *call)
{
	return &search->code.functions.items[gt_gil_code_whole(&search->code, call->function)];
}

static bool is_in_take(struct search *search, const struct gt_gil_call *call)
{
	return gt_hash_get(&search->landmarks.takes, whole_function(search, call)->start) !=
	       GT_HASH_NONE;
}

/* What is known of two objects of one function. */
enum relation {
	RELATION_UNKNOWN,
	RELATION_SAME,
	RELATION_SWITCH, /* the second one may be switch_cond, when the first one is cond */
	RELATION_OTHER,
};

static enum relation relation_of(const struct search *search, const struct gt_value *cond,
				 const struct gt_value *other)
{
	if (gt_values_equal(cond, other))
		return RELATION_SAME;
	/* In 3.6 they are variables of their own, in any order. */
	if (cond->kind == GT_VALUE_CONSTANT && other->kind == GT_VALUE_CONSTANT)
		return RELATION_SWITCH;
	if (cond->kind != GT_VALUE_RELATIVE || other->kind != GT_VALUE_RELATIVE ||
	    cond->base != other->base)
		return RELATION_UNKNOWN;
	return other->value - cond->value == search->switch_distance ? RELATION_SWITCH
								     : RELATION_OTHER;
}

/*
 * How the object of the call SIGNAL stands to those that its function waits for with a time limit.
 * RELATION_OTHER when it waits for none.
 */
static enum relation relation_in_function(struct search *search, const struct gt_gil_call *signal)
{
	const struct gt_elf_function *function = whole_function(search, signal);
	enum relation relation = RELATION_OTHER;

	gt_array_for_each (&search->code.calls, call) {
		enum relation found;

		if (call->callee != GT_GIL_CALLEE_COND_TIMEDWAIT ||
		    whole_function(search, call) != function)
			continue;
		found = relation_of(search, &call->argument, &signal->argument);
		if (found == RELATION_SAME)
			return found;
		if (found != RELATION_OTHER)
			relation = found;
	}
	return relation;
}

static int add_take(struct search *search, const struct gt_gil_call *call)
{
	uint32_t whole = gt_gil_code_whole(&search->code, call->function);
	uint64_t entry = search->code.functions.items[whole].start;
	int r;

	if (is_in_take(search, call))
		return 0;
	if (gt_hash_set(&search->landmarks.takes, entry, 0) < 0)
		return gt_error_oom();
	r = gt_gil_waits_add_function(&search->code, whole, &search->sites.waits);
	if (r < 0)
		return r;
	return gt_gil_sites_add(&search->sites, GT_GIL_SITE_TAKE, entry);
}

/*
 * A function that waits for a condition with a time limit, and signals another one when it has it,
 * is take_gil, or a copy of it. Others that wait so belong to libraries that are linked in.
 */
static int find_takes(struct search *search)
{
	int r;

	gt_array_for_each (&search->code.calls, call) {
		enum relation relation;

		if (call->callee != GT_GIL_CALLEE_COND_SIGNAL)
			continue;
		relation = relation_in_function(search, call);
		if (relation != RELATION_SWITCH && relation != RELATION_UNKNOWN)
			continue;
		r = add_take(search, call);
		if (r < 0)
			return r;
	}
	return 0;
}

/* False when CALL surely signals another object than the GIL's: its address is known, and theirs.
 */
static bool may_be_release(struct search *search, const struct gt_gil_call *signal)
{
	if (signal->argument.kind != GT_VALUE_CONSTANT)
		return true;
	gt_array_for_each (&search->code.calls, call)
		if (call->callee == GT_GIL_CALLEE_COND_TIMEDWAIT && is_in_take(search, call) &&
		    (call->argument.kind != GT_VALUE_CONSTANT ||
		     call->argument.value == signal->argument.value))
			return true;
	return false;
}

/*
 * Tells the calls of pthread_cond_signal apart. take_gil signals switch_cond: acquired. From 3.9 on
 * it drops the GIL again when the interpreter is shutting down; where drop_gil is inlined there, it
 * signals cond too: the object that it has waited for. Where the code does not tell the objects
 * apart, it is taken for the former: the latter is the last act of a thread, and rare. All others
 * are releases, unless what comes behind them refutes it.
 */
static int find_signals(struct search *search)
{
	int r;

	gt_array_for_each (&search->code.calls, call) {
		struct gt_gil_call *release;

		if (call->callee != GT_GIL_CALLEE_COND_SIGNAL)
			continue;
		if (is_in_take(search, call)) {
			enum relation relation = relation_in_function(search, call);

			if (relation == RELATION_SWITCH || relation == RELATION_UNKNOWN) {
				r = gt_gil_sites_add(&search->sites, GT_GIL_SITE_ACQUIRED,
						     call->address);
				if (r < 0)
					return r;
			}
			if (relation != RELATION_SAME)
				continue;
		} else if (!may_be_release(search, call)) {
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
		/*
		 * Many locks are signalled and unlocked. Among the code of a whole C library and of
		 * others, the switch behind it makes the difference.
		 */
		if (!aftermath.unlocks || (search->code.is_static && aftermath.switched.count == 0))
			continue;
		r = gt_gil_sites_add(&search->sites, GT_GIL_SITE_RELEASE, release->address);
		if (r < 0)
			return r;
		gt_array_for_each (&aftermath.switched, address) {
			r = gt_gil_sites_add(&search->sites, GT_GIL_SITE_SWITCHED, *address);
			if (r < 0)
				return r;
		}
		gt_array_for_each (&aftermath.retakes, address) {
			r = gt_gil_sites_add(&search->sites, GT_GIL_SITE_RETAKE, *address);
			if (r < 0)
				return r;
		}
		gt_array_for_each (&aftermath.waits, next) {
			r = gt_gil_waits_add(&search->sites.waits, *next - 1, *next);
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

static void finish_offsets(const struct gt_elf *elf, gt_gil_offsets *sites)
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

static int compare_calls(const void *left, const void *right)
{
	const struct gt_gil_call_site *a = left, *b = right;

	return compare_offsets(&a->return_offset, &b->return_offset);
}

/* A call that is not in the file would be missing: then all are, as an agent needs them all. */
static void finish_calls(const struct gt_elf *elf, gt_gil_call_sites *calls)
{
	gt_array_for_each (calls, call) {
		if (gt_elf_address_to_offset(elf, call->return_offset, &call->return_offset))
			continue;
		gt_array_clear(calls);
		return;
	}
	if (calls->count > 0)
		qsort(calls->items, calls->count, sizeof(*calls->items), compare_calls);
}

void gt_gil_sites_finish(const struct gt_elf *elf, struct gt_gil_sites *sites)
{
	for (uint32_t kind = 0; kind < GT_GIL_SITE_KINDS; kind++)
		finish_offsets(elf, &sites->offsets[kind]);
	finish_calls(elf, &sites->calls);
	gt_gil_waits_finish(elf, &sites->waits);
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

/* True when every take_gil that the code has shown has that name. */
static bool symbols_confirm(struct search *search)
{
	gt_array_for_each (&search->sites.offsets[GT_GIL_SITE_TAKE], entry) {
		uint32_t function = gt_elf_function_at(&search->code.functions, *entry);

		if (function == UINT32_MAX ||
		    !gt_string_starts_with(search->code.functions.items[function].name, "take_gil"))
			return false;
	}
	return true;
}

static int run_search(const struct gt_elf *elf, struct search *search)
{
	uint32_t signal_count = 0;
	int r;

	/* sizeof(pthread_cond_t) + sizeof(pthread_mutex_t) of glibc */
	search->switch_distance = gt_elf_machine(elf) == EM_AARCH64 ? 0x60 : 0x58;
	gt_array_for_each (&search->code.calls, call)
		signal_count += call->callee == GT_GIL_CALLEE_COND_SIGNAL;
	if (signal_count > MAX_SIGNALS) {
		gt_error("cannot find the GIL in %s: too many locks look like it",
			 gt_elf_path(elf));
		return -ENODATA;
	}
	r = find_takes(search);
	if (r < 0)
		return r;
	r = find_signals(search);
	if (r < 0)
		return r;
	r = find_callers(search);
	if (r < 0)
		return r;
	return follow_releases(search);
}

int gt_gil_sites_find(const struct gt_elf *elf, struct gt_gil_sites *ret)
{
	_cleanup_(search_clear) struct search search = {0};
	const char *found_by = "sites";
	int r;

	r = gt_gil_code_read(elf, &search.code);
	if (r < 0)
		return r;
	r = run_search(elf, &search);
	if (r < 0)
		return r;
	if (gt_disassembler_is_exhausted(search.code.disassembler)) {
		gt_error(
			"cannot find the GIL in %s: there is far more code than an interpreter has",
			gt_elf_path(elf));
		return -ENODATA;
	}
	if (symbols_confirm(&search))
		found_by = search.code.debug_file ? "debuglink" : "symbols";
	r = gt_gil_calls_find(&search.code, &search.sites);
	if (r < 0)
		return r;
	gt_gil_sites_finish(elf, &search.sites);
	r = check_complete(elf, &search.sites);
	if (r < 0)
		return r;
	*ret = search.sites;
	ret->found_by = found_by;
	search.sites = (struct gt_gil_sites){0};
	return 0;
}
