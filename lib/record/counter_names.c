/* SPDX-License-Identifier: MIT */
#include "record/counter_names.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"

/* The first ones are the default. */
static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
} counters[] = {
	{"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
	{"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
	{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
	{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
	{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
	{"alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
	{"emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
	{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
	{"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
	{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
	{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
	{"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
	{"bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
	{"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
	{"stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
	{"stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
};

static struct gt_pass_counter make_counter(size_t index, bool user_only)
{
	return (struct gt_pass_counter){.name = counters[index].name,
					.type = counters[index].type,
					.config = counters[index].config,
					.user_only = user_only};
}

void gt_counters_default(bool user_only, struct gt_pass_counter ret[GT_DEFAULT_COUNTERS])
{
	for (size_t i = 0; i < GT_DEFAULT_COUNTERS; i++)
		ret[i] = make_counter(i, user_only);
}

bool gt_counter_find(const char *name, size_t length, bool user_only, struct gt_pass_counter *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		if (strlen(counters[i].name) != length ||
		    strncmp(counters[i].name, name, length) != 0)
			continue;
		*ret = make_counter(i, user_only);
		return true;
	}
	return false;
}

char *gt_counter_names(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		fprintf(out, "%s%s", i > 0 ? ", " : "", counters[i].name);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
