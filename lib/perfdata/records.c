/* SPDX-License-Identifier: MIT */
/* One record: its time, and what is in it. See PERF_RECORD_* in linux/perf_event.h. */
#include <perf/event.h>
#include <sys/mman.h>

#include "perfdata/reader.h"

/* PERF_SAMPLE_BRANCH_COUNTERS, from Linux 6.8 on: a word for each branch, behind them all. */
#define BRANCH_COUNTERS (UINT64_C(1) << 19)

static struct perf_event_header load_header(const void *record)
{
	struct perf_event_header header;

	memcpy(&header, record, sizeof(header));
	return header;
}

/*
 * Whose record this is. NULL for a sample of an unknown event; the first event for other records
 * that no event of the file has made: the recorder writes those that describe what was there before
 * it.
 */
static const struct gt_reader_event *find_event(const struct gt_perfdata *perfdata,
						const uint8_t *record,
						const struct perf_event_header *header,
						struct gt_reader_identity *ret_identity)
{
	bool is_sample = header->type == PERF_RECORD_SAMPLE;
	uint16_t distance = is_sample ? perfdata->sample_identifier : perfdata->other_identifier;
	uint32_t found = GT_HASH_NONE;

	*ret_identity =
		(struct gt_reader_identity){.event = GT_PERF_NO_INDEX, .ring = GT_PERF_NO_INDEX};
	if (distance != 0 && header->size >= sizeof(*header) + distance)
		found = gt_hash_get(&perfdata->identifiers,
				    gt_load_u64(is_sample ? record + distance
							  : record + header->size - distance));
	if (found != GT_HASH_NONE)
		*ret_identity = perfdata->identities.items[found];
	else if (perfdata->event_count == 1)
		ret_identity->event = 0;
	else
		return is_sample ? NULL : &perfdata->events[0];
	return &perfdata->events[ret_identity->event];
}

bool gt_perfdata_record_time(const struct gt_perfdata *perfdata, const void *record,
			     uint64_t *ret_time_ns)
{
	struct perf_event_header header = load_header(record);
	const struct gt_reader_event *event = &perfdata->events[0];
	const uint8_t *bytes = record;
	struct gt_reader_identity identity;

	if (!perfdata->same_layout)
		event = find_event(perfdata, bytes, &header, &identity);
	if (!event)
		return false;
	*ret_time_ns = 0;
	if (header.type == PERF_RECORD_SAMPLE) {
		if (header.size < event->layout.sample_fixed)
			return false;
		if (event->layout.sample_time)
			*ret_time_ns = gt_load_u64(bytes + event->layout.sample_time);
		return true;
	}
	if (header.size < sizeof(header) + event->layout.other_size)
		return false;
	if (event->layout.other_time)
		*ret_time_ns = gt_load_u64(bytes + header.size - event->layout.other_time);
	return true;
}

/* Steps over PERF_SAMPLE_READ. */
static bool skip_read(struct gt_span *body, uint64_t read_format)
{
	uint64_t times =
		read_format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING);
	uint64_t marks = read_format & (PERF_FORMAT_ID | PERF_FORMAT_LOST); /* of each counter */
	uint64_t count = 1;

	if (read_format & PERF_FORMAT_GROUP) {
		if (!gt_span_read(body, &count, sizeof(count)))
			return false;
		if (count > UINT16_MAX) /* no record is so large */
			return false;
	}
	return gt_span_take(body, ((uint64_t)__builtin_popcountll(times) +
				   count * (1 + (uint64_t)__builtin_popcountll(marks))) *
					  sizeof(uint64_t));
}

/* The call chain: a count, and that many addresses. */
static bool read_call_chain(struct gt_span *body, struct gt_perf_record *ret)
{
	uint64_t count;

	if (!gt_span_read(body, &count, sizeof(count)) || count > UINT16_MAX)
		return false;
	ret->sample.frames = gt_span_take(body, count * sizeof(uint64_t));
	ret->sample.frame_count = (uint32_t)count;
	return ret->sample.frames;
}

/* Steps over PERF_SAMPLE_BRANCH_STACK: a count, and branches of three words and what is asked for.
 */
static bool skip_branches(struct gt_span *body, uint64_t branch_sample_type)
{
	const uint64_t entry_size = 3 * sizeof(uint64_t);
	uint64_t count;

	if (!gt_span_read(body, &count, sizeof(count)) || count > UINT16_MAX)
		return false;
	if ((branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX) &&
	    !gt_span_take(body, sizeof(uint64_t)))
		return false;
	if (!gt_span_take(body, count * entry_size))
		return false;
	return !(branch_sample_type & BRANCH_COUNTERS) ||
	       gt_span_take(body, count * sizeof(uint64_t));
}

/* None of a kernel thread; those of a 32-bit program are others than the mask has for us. */
static bool read_registers(struct gt_span *body, uint64_t mask, struct gt_perf_record *ret)
{
	const void *registers;
	uint64_t abi;

	if (!gt_span_read(body, &abi, sizeof(abi)))
		return false;
	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return true;
	registers = gt_span_take(body, (uint64_t)__builtin_popcountll(mask) * sizeof(uint64_t));
	if (!registers)
		return false;
	if (abi == PERF_SAMPLE_REGS_ABI_64 && mask != 0) {
		ret->sample.registers = registers;
		ret->sample.register_mask = mask;
	}
	return true;
}

/* The room that the stack had, that many bytes, and how many of them are of the stack. */
static bool read_stack(struct gt_span *body, struct gt_perf_record *ret)
{
	uint64_t size, used;
	const void *stack;

	if (!gt_span_read(body, &size, sizeof(size)))
		return false;
	if (size == 0)
		return true;
	stack = gt_span_take(body, size);
	if (!stack || !gt_span_read(body, &used, sizeof(used)) || used > size)
		return false;
	ret->sample.stack = stack;
	ret->sample.stack_bytes = (uint32_t)used;
	ret->sample.stack_is_cut = used == size;
	return true;
}

/* What a sample may have behind its fields of fixed size, in this order. */
static const char *parse_sample_body(const struct perf_event_attr *attr, struct gt_span body,
				     struct gt_perf_record *ret)
{
	uint64_t sample_type = attr->sample_type;

	if ((sample_type & PERF_SAMPLE_READ) && !skip_read(&body, attr->read_format))
		return "the counters of a sample go past its end";
	if ((sample_type & PERF_SAMPLE_CALLCHAIN) && !read_call_chain(&body, ret))
		return "the call chain of a sample goes past its end";
	if (sample_type & PERF_SAMPLE_RAW) {
		if (!gt_span_read(&body, &ret->sample.raw_size, sizeof(ret->sample.raw_size)))
			return "a sample ends before its raw data";
		ret->sample.raw = gt_span_take(&body, ret->sample.raw_size);
		if (!ret->sample.raw)
			return "the raw data of a sample goes past its end";
	}
	if (!(sample_type & (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)))
		return NULL;
	if ((sample_type & PERF_SAMPLE_BRANCH_STACK) &&
	    !skip_branches(&body, attr->branch_sample_type))
		return "the branches of a sample go past its end";
	if ((sample_type & PERF_SAMPLE_REGS_USER) &&
	    !read_registers(&body, attr->sample_regs_user, ret))
		return "the registers of a sample go past its end";
	if ((sample_type & PERF_SAMPLE_STACK_USER) && !read_stack(&body, ret))
		return "the stack of a sample goes past its end";
	return NULL;
}

static const char *parse_sample(const struct gt_reader_event *event, const uint8_t *record,
				struct gt_perf_record *ret)
{
	const struct gt_record_layout *layout = &event->layout;
	struct gt_span body = {.at = record + layout->sample_fixed, .end = record + ret->size};

	if (layout->sample_tid) {
		ret->pid = gt_load_u32(record + layout->sample_tid);
		ret->tid = gt_load_u32(record + layout->sample_tid + sizeof(uint32_t));
	}
	memset(&ret->sample, 0, sizeof(ret->sample));
	return parse_sample_body(&event->attr, body, ret);
}

/* The two ids that most records begin with. */
static bool read_ids(struct gt_span *body, struct gt_perf_record *ret)
{
	return gt_span_read(body, &ret->pid, sizeof(ret->pid)) &&
	       gt_span_read(body, &ret->tid, sizeof(ret->tid));
}

static const char *parse_mmap(struct gt_span body, struct gt_perf_record *ret)
{
	uint32_t protection, flags;
	const uint8_t *inode;

	if (!read_ids(&body, ret) ||
	    !gt_span_read(&body, &ret->mmap.start, sizeof(ret->mmap.start)) ||
	    !gt_span_read(&body, &ret->mmap.length, sizeof(ret->mmap.length)) ||
	    !gt_span_read(&body, &ret->mmap.file_offset, sizeof(ret->mmap.file_offset)))
		return "a mapping record is too short";
	ret->mmap.build_id = NULL;
	ret->mmap.build_id_size = 0;
	ret->mmap.executable = !(ret->misc & PERF_RECORD_MISC_MMAP_DATA);
	if (ret->type == PERF_RECORD_MMAP2) {
		/* The device and inode, or the build id: its size, three unused bytes, 20 bytes. */
		inode = gt_span_take(&body, 24);
		if (!inode || !gt_span_read(&body, &protection, sizeof(protection)) ||
		    !gt_span_read(&body, &flags, sizeof(flags)))
			return "a mapping record is too short";
		ret->mmap.executable = protection & PROT_EXEC;
		if ((ret->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) && inode[0] <= 20) {
			ret->mmap.build_id = inode + 4;
			ret->mmap.build_id_size = inode[0];
		}
	}
	ret->mmap.path = gt_span_string(&body);
	return ret->mmap.path ? NULL : "the path of a mapping record has no end";
}

static const char *parse_task(struct gt_span body, struct gt_perf_record *ret)
{
	if (!gt_span_read(&body, &ret->pid, sizeof(ret->pid)) ||
	    !gt_span_read(&body, &ret->task.ppid, sizeof(ret->task.ppid)) ||
	    !gt_span_read(&body, &ret->tid, sizeof(ret->tid)) ||
	    !gt_span_read(&body, &ret->task.ptid, sizeof(ret->task.ptid)))
		return "a task record is too short";
	/* Recorded without sample_id_all, it still has a time of its own. */
	if (ret->time_ns == 0)
		gt_span_read(&body, &ret->time_ns, sizeof(ret->time_ns));
	return NULL;
}

static const char *parse_comm(struct gt_span body, struct gt_perf_record *ret)
{
	if (!read_ids(&body, ret))
		return "a name record is too short";
	ret->comm.name = gt_span_string(&body);
	ret->comm.exec = ret->misc & PERF_RECORD_MISC_COMM_EXEC;
	return ret->comm.name ? NULL : "the name of a thread has no end";
}

static const char *parse_lost(struct gt_span body, struct gt_perf_record *ret)
{
	uint64_t id;

	if ((ret->type == PERF_RECORD_LOST && !gt_span_read(&body, &id, sizeof(id))) ||
	    !gt_span_read(&body, &ret->lost.count, sizeof(ret->lost.count)))
		return "a record of losses is too short";
	return NULL;
}

/* Of a group, the values of all its counters are there, and none is told to be the event's. */
static const char *parse_read(struct gt_span body, uint64_t read_format, struct gt_perf_record *ret)
{
	memset(&ret->read, 0, sizeof(ret->read));
	if (!read_ids(&body, ret))
		return "a record of a counter is too short";
	if (read_format & PERF_FORMAT_GROUP)
		return NULL;
	if (!gt_span_read(&body, &ret->read.value, sizeof(ret->read.value)) ||
	    ((read_format & PERF_FORMAT_TOTAL_TIME_ENABLED) &&
	     !gt_span_read(&body, &ret->read.enabled_ns, sizeof(ret->read.enabled_ns))) ||
	    ((read_format & PERF_FORMAT_TOTAL_TIME_RUNNING) &&
	     !gt_span_read(&body, &ret->read.running_ns, sizeof(ret->read.running_ns))))
		return "a record of a counter is too short";
	return NULL;
}

static const char *parse_other(const struct gt_reader_event *event, const uint8_t *record,
			       struct gt_perf_record *ret)
{
	const struct gt_record_layout *layout = &event->layout;
	struct gt_span body = {.at = record + sizeof(struct perf_event_header),
			       .end = record + ret->size - layout->other_size};

	if (layout->other_tid) {
		ret->pid = gt_load_u32(record + ret->size - layout->other_tid);
		ret->tid = gt_load_u32(record + ret->size - layout->other_tid + sizeof(uint32_t));
	}
	switch (ret->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return parse_mmap(body, ret);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return parse_task(body, ret);
	case PERF_RECORD_COMM:
		return parse_comm(body, ret);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		return parse_lost(body, ret);
	case PERF_RECORD_READ:
		return parse_read(body, event->attr.read_format, ret);
	default:
		return NULL;
	}
}

const char *gt_perfdata_parse(const struct gt_perfdata *perfdata, const void *record,
			      struct gt_perf_record *ret)
{
	struct perf_event_header header = load_header(record);
	struct gt_reader_identity identity;
	const struct gt_reader_event *event = find_event(perfdata, record, &header, &identity);

	ret->type = header.type;
	ret->misc = header.misc;
	ret->size = header.size;
	ret->pid = ret->tid = 0;
	ret->event = identity.event;
	ret->ring = identity.ring;
	if (header.type != PERF_RECORD_SAMPLE)
		return parse_other(event, record, ret);
	if (!event || header.size < event->layout.sample_fixed)
		return "a sample of no known event";
	return parse_sample(event, record, ret);
}
