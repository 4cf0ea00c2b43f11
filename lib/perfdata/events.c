/* SPDX-License-Identifier: MIT */
/* The attribute section: which events there are, which identifiers are theirs, what is where. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "perfdata/reader.h"

/* More events than a recorder can have open at once: only a broken file has them. */
#define MAX_EVENTS 65536u

#define SIZE_OF_FIELD 8u

/* The fields of fixed size at the start of a sample, in their order. */
static const uint64_t sample_fields[] = {
	PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,	  PERF_SAMPLE_TID,
	PERF_SAMPLE_TIME,	PERF_SAMPLE_ADDR, PERF_SAMPLE_ID,
	PERF_SAMPLE_STREAM_ID,	PERF_SAMPLE_CPU,  PERF_SAMPLE_PERIOD,
};

/* The fields that sample_id_all puts at the end of all other records, the last one first. */
static const uint64_t other_fields[] = {
	PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_CPU,  PERF_SAMPLE_STREAM_ID,
	PERF_SAMPLE_ID,		PERF_SAMPLE_TIME, PERF_SAMPLE_TID,
};

/* How much of FIELDS comes up to FIELD, when sample_type has FIELD: else 0. */
static uint16_t measure_fields(uint64_t sample_type, const uint64_t *fields, size_t count,
			       uint64_t field)
{
	uint16_t size = 0;

	if (!(sample_type & field))
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (sample_type & fields[i])
			size = (uint16_t)(size + SIZE_OF_FIELD);
		if (fields[i] == field)
			break;
	}
	return size;
}

/* The offset of FIELD from a sample's start. The header is as large as a field, and before all. */
static uint16_t find_in_sample(const struct perf_event_attr *attr, uint64_t field)
{
	return measure_fields(attr->sample_type, sample_fields, ARRAY_SIZE(sample_fields), field);
}

/* The offset of FIELD from any other record's end. */
static uint16_t find_in_other(const struct perf_event_attr *attr, uint64_t field)
{
	if (!attr->sample_id_all)
		return 0;
	return measure_fields(attr->sample_type, other_fields, ARRAY_SIZE(other_fields), field);
}

static struct gt_record_layout find_layout(const struct perf_event_attr *attr)
{
	struct gt_record_layout layout = {
		.sample_tid = find_in_sample(attr, PERF_SAMPLE_TID),
		.sample_time = find_in_sample(attr, PERF_SAMPLE_TIME),
		.sample_fixed = sizeof(struct perf_event_header),
		.other_tid = find_in_other(attr, PERF_SAMPLE_TID),
		.other_time = find_in_other(attr, PERF_SAMPLE_TIME),
	};

	for (size_t i = 0; i < ARRAY_SIZE(sample_fields); i++)
		if (attr->sample_type & sample_fields[i])
			layout.sample_fixed = (uint16_t)(layout.sample_fixed + SIZE_OF_FIELD);
	for (size_t i = 0; i < ARRAY_SIZE(other_fields); i++)
		if (attr->sample_id_all && (attr->sample_type & other_fields[i]))
			layout.other_size = (uint16_t)(layout.other_size + SIZE_OF_FIELD);
	return layout;
}

/* IDENTIFIER, which has the same place for all events; or ID, which may not. */
static uint64_t identifier_field(const struct perf_event_attr *attr)
{
	return attr->sample_type & PERF_SAMPLE_IDENTIFIER ? PERF_SAMPLE_IDENTIFIER : PERF_SAMPLE_ID;
}

static int find_identifiers(struct gt_perfdata *perfdata)
{
	const struct gt_reader_event *first = &perfdata->events[0];
	uint64_t field = identifier_field(&first->attr);

	perfdata->sample_identifier = find_in_sample(&first->attr, field);
	perfdata->other_identifier = find_in_other(&first->attr, field);
	perfdata->same_layout = true;
	for (uint32_t i = 1; i < perfdata->event_count; i++) {
		const struct gt_reader_event *event = &perfdata->events[i];

		field = identifier_field(&event->attr);
		if (find_in_sample(&event->attr, field) != perfdata->sample_identifier ||
		    find_in_other(&event->attr, field) != perfdata->other_identifier ||
		    perfdata->sample_identifier == 0) {
			gt_error("%s: its samples do not tell which event they belong to\n"
				 "  record it with one event, or with PERF_SAMPLE_IDENTIFIER, as "
				 "perf record does",
				 perfdata->path);
			return -EOPNOTSUPP;
		}
		if (memcmp(&event->layout, &first->layout, sizeof(first->layout)) != 0)
			perfdata->same_layout = false;
	}
	return 0;
}

static int add_identifiers(struct gt_perfdata *perfdata, uint32_t event,
			   struct gt_perf_file_section section)
{
	struct gt_span ids = gt_perfdata_span(perfdata, section);
	uint64_t id;

	for (uint32_t ring = 0; gt_span_read(&ids, &id, sizeof(id)); ring++) {
		struct gt_reader_identity *identity = gt_array_push(&perfdata->identities);

		if (!identity ||
		    gt_hash_set(&perfdata->identifiers, id, perfdata->identities.count - 1) < 0)
			return gt_error_oom();
		*identity = (struct gt_reader_identity){.event = event, .ring = ring};
	}
	return 0;
}

/* Recorders older or newer than this header have smaller or larger attributes. */
static int read_event(struct gt_perfdata *perfdata, uint32_t index, struct gt_span entry)
{
	struct gt_reader_event *event = &perfdata->events[index];
	uint64_t offset = (uint64_t)(entry.at - perfdata->map);
	struct gt_perf_file_section ids;
	uint32_t size = gt_load_u32(entry.at + offsetof(struct perf_event_attr, size));
	const void *attr;

	if (size == 0)
		size = PERF_ATTR_SIZE_VER0;
	attr = gt_span_take(&entry, size);
	if (size < PERF_ATTR_SIZE_VER0 || !attr || !gt_span_read(&entry, &ids, sizeof(ids)))
		return gt_perfdata_broken(perfdata, offset, "an attribute of %" PRIu32 " bytes",
					  size);
	if (!gt_perfdata_has(perfdata, ids) || ids.size % sizeof(uint64_t) != 0)
		return gt_perfdata_broken(perfdata, offset,
					  "the identifiers of an event are not in the file");
	memcpy(&event->attr, attr, GT_MIN((size_t)size, sizeof(event->attr)));
	event->event.attr = &event->attr;
	event->layout = find_layout(&event->attr);
	return add_identifiers(perfdata, index, ids);
}

int gt_perfdata_read_events(struct gt_perfdata *perfdata)
{
	struct gt_perf_file_section attrs = perfdata->header.attrs;
	uint64_t entry_size = perfdata->header.attr_size, count;
	int r;

	if (entry_size < PERF_ATTR_SIZE_VER0 + sizeof(struct gt_perf_file_section))
		return gt_perfdata_broken(perfdata, offsetof(struct gt_perf_file_header, attr_size),
					  "attributes of %" PRIu64 " bytes", entry_size);
	count = attrs.size / entry_size;
	if (!gt_perfdata_has(perfdata, attrs) || attrs.size % entry_size != 0 || count == 0 ||
	    count > MAX_EVENTS)
		return gt_perfdata_broken(perfdata, offsetof(struct gt_perf_file_header, attrs),
					  "the attribute section is empty or not in the file");
	perfdata->events = calloc(count, sizeof(*perfdata->events));
	if (!perfdata->events)
		return gt_error_oom();
	perfdata->event_count = (uint32_t)count;
	for (uint32_t i = 0; i < perfdata->event_count; i++) {
		struct gt_perf_file_section entry = {.offset = attrs.offset + i * entry_size,
						     .size = entry_size};

		r = read_event(perfdata, i, gt_perfdata_span(perfdata, entry));
		if (r < 0)
			return r;
	}
	return find_identifiers(perfdata);
}
