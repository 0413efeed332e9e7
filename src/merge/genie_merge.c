/*
 * genie_merge.c
 *	  Merging segments: objects by TID, keywords by key, without dead objects.
 *
 * Phase 1, objects.  The object tables of all inputs are read side by side in TID order.  Each
 * live object gets the next number of the output.  What became of an input's objects is kept as
 * *pieces*: from input object `first` on, output numbers count up from `to` (or the objects
 * are dropped), until the next piece.  Inputs whose TID ranges do not interleave have one
 * piece; at worst there is one piece for each object.  An object's value is copied as it is, or left
 * out with all others.
 *
 * Phase 2, keywords.  The dictionaries of all inputs are read side by side in key order.  A keyword's
 * lists are decoded tile by tile, renumbered through the pieces and merged into the encoder.
 * Everything is read and written sequentially.
 *
 * Both a list and the pieces ascend.  The next piece is found by galloping, so a short list does not visit all
 * pieces.  The output numbers of a piece belong to one input, so the postings of one piece follow each other in the
 * output, and inputs are compared once a piece, not once a posting.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "genie_codec.h"
#include "genie_dictionary.h"
#include "genie_merge.h"
#include "genie_object_table.h"
#include "genie_tombstone.h"
#include "genie_values.h"

#define GENIE_DROPPED PG_UINT32_MAX
#define GENIE_MERGE_BATCH 1024	/* postings given to the encoder at once: a few KB, and calls cost little */

typedef struct GeniePiece
{
	uint32		first;
	uint32		to;				/* GENIE_DROPPED: dead or replaced */
} GeniePiece;

/* One input and where the merge stands in it. */
typedef struct GenieMergeInput
{
	GenieSegment *segment;

	/* phase 1 */
	GenieObjectReader objects;
	GenieSectionReader sizes_reader;
	GenieSectionReader tombstones;
	const GenieTileObjects *tile;
	uint32		object;			/* the current object, from the segment's first */
	uint32		run;			/* its run in the tile */
	uint64		tid;
	bool		at_end;
	uint32	   *sizes;			/* of the tile; NULL: not wanted */
	GenieSectionReader values;
	char	   *value;			/* of the current object; NULL: the merge writes none */
	uint64		dead[GENIE_TILE_WORDS];

	GeniePiece *pieces;
	Size		n_pieces;
	Size		pieces_capacity;

	/* phase 2 */
	GenieDictionaryCursor dictionary;
	GenieSectionReader postings;
	uint8	   *list;
	Size		list_capacity;
	const uint8 *list_next;
	const uint8 *list_end;
	int64		list_tile;
	Size		piece;
	uint32		n_locals;
	uint32		local;			/* the next posting */
	uint32		run_end;		/* behind the last posting in the same piece */
	uint32		head;			/* the next posting's output number; GENIE_DROPPED at the end */
	uint32		base;
	uint32		loose[GENIE_LOOSE_MAX];
	bool		is_loose;
	uint16		locals[GENIE_TILE_OBJECTS];
} GenieMergeInput;

struct GenieMerge
{
	int			n_inputs;
	GenieMergeInput *inputs;
};

static void
genie_merge_corrupt(const GenieSegment *segment)
{
	if (segment->index == NULL)
		elog(ERROR, "spilled segment is malformed");
	genie_report_corrupt(segment->index, segment->entry.root, "malformed or foreign segment page");
}

/* ---- phase 1 ---- */

/* Loads the tile of the input's current object. */
static void
genie_merge_load_tile(GenieMergeInput *input)
{
	uint32		tile = input->object >> GENIE_TILE_SHIFT;
	uint32		first = tile << GENIE_TILE_SHIFT;

	input->tile = genie_object_table_tile(&input->objects, tile);
	if (input->tile == NULL ||
		(input->sizes != NULL &&
		 !genie_object_table_sizes(&input->sizes_reader, first, input->tile->n_objects, input->sizes)))
		genie_merge_corrupt(input->segment);
	memset(input->dead, 0, sizeof(input->dead));
	if (input->segment->index != NULL &&
		!genie_tombstone_read(&input->tombstones, first, input->tile->n_objects, input->dead))
		genie_merge_corrupt(input->segment);
	input->run = 0;
	CHECK_FOR_INTERRUPTS();
}

/* Sets tid for the current object, or at_end. */
static void
genie_merge_settle(GenieMergeInput *input)
{
	uint32		local = input->object & (GENIE_TILE_OBJECTS - 1);
	const GenieTidRun *run;

	if (input->object == input->segment->header.n_objects)
	{
		input->at_end = true;
		return;
	}
	if (local == 0)
		genie_merge_load_tile(input);
	if (input->run + 1 < input->tile->n_runs && input->tile->runs[input->run + 1].start <= local)
		input->run++;
	run = &input->tile->runs[input->run];
	input->tid = ((uint64) run->block << 16) | (run->offset + (local - run->start));
}

/* Records that the current object became output object `to`, and steps on. */
static void
genie_merge_step(GenieMergeInput *input, uint32 to)
{
	GeniePiece *last = input->pieces + input->n_pieces - 1;
	bool		goes_on;

	if (input->n_pieces == 0)
		goes_on = false;
	else if (last->to == GENIE_DROPPED || to == GENIE_DROPPED)
		goes_on = last->to == to;
	else
		goes_on = last->to + (input->object - last->first) == to;
	if (!goes_on)
	{
		if (input->n_pieces == input->pieces_capacity)
		{
			input->pieces_capacity *= 2;
			input->pieces = repalloc_huge(input->pieces, input->pieces_capacity * sizeof(GeniePiece));
		}
		input->pieces[input->n_pieces].first = input->object;
		input->pieces[input->n_pieces++].to = to;
	}
	input->object++;
	genie_merge_settle(input);
}

static bool
genie_merge_is_dead(const GenieMergeInput *input)
{
	uint32		local = input->object & (GENIE_TILE_OBJECTS - 1);

	return (input->dead[local / 64] >> (local % 64)) & 1;
}

/* Steps over dead objects; then the input is on a live one or at its end. */
static void
genie_merge_skip_dead(GenieMergeInput *input)
{
	while (!input->at_end && genie_merge_is_dead(input))
		genie_merge_step(input, GENIE_DROPPED);
}

/*
 * What the values of the output are like: as those of the inputs that have some.  One may have none: it is from before
 * values, or from a time when they were switched off, or it has NULL objects alone, from before the index knew how long
 * its vectors are.  Its objects' values are unknown in the output.
 */
static GenieValueShape
genie_merge_shape(const GenieMergeInput *inputs, int n_inputs)
{
	GenieValueShape shape = {0};

	for (int i = 0; i < n_inputs; i++)
	{
		GenieValueShape of_input = genie_values_shape(inputs[i].segment);

		if (shape.metric == 0)
			shape = of_input;
		else if (of_input.metric != 0 && !genie_value_shape_equal(shape, of_input))
			genie_merge_corrupt(inputs[i].segment);
	}
	return shape;
}

/* Copies the current object's value. */
static void
genie_merge_value(GenieMergeInput *input, GenieValueShape shape, GenieSegmentWriter *writer)
{
	Size		n_bytes = genie_value_bytes(shape);

	if (genie_values_shape(input->segment).metric == 0)
		genie_value_record_unknown(shape.metric, shape.n_dimensions, input->value);
	else if (!genie_section_read(&input->values, input->object * (uint64) n_bytes, n_bytes, input->value))
		genie_merge_corrupt(input->segment);
	genie_segment_write(writer, GENIE_SECTION_VALUES, input->value, n_bytes);
}

static void
genie_merge_objects(GenieMergeInput *inputs, int n_inputs, bool values, GenieSegmentWriter *writer,
					GenieRootHeader *header)
{
	uint32		min_size = GENIE_OBJECT_KEYWORDS_MAX;
	uint32		max_size = 0;
	uint32		output = 0;
	GenieObjectWriter *objects = NULL;
	GenieValueShape shape = values ? genie_merge_shape(inputs, n_inputs) : (GenieValueShape) {0};

	for (int i = 0; i < n_inputs; i++)
	{
		GenieMergeInput *input = &inputs[i];

		if (input->segment->header.n_objects > input->segment->header.n_nulls)
		{
			min_size = Min(min_size, input->segment->header.min_size);
			max_size = Max(max_size, input->segment->header.max_size);
			header->max_keywords = Max(header->max_keywords, input->segment->header.max_keywords);
			header->flags |= input->segment->header.flags & GENIE_ROOT_OWN_SIZES;
		}
		genie_object_table_reader(&input->objects, input->segment, false);
		genie_section_reader(&input->sizes_reader, input->segment, GENIE_SECTION_SIZES);
		genie_section_reader(&input->tombstones, input->segment, GENIE_SECTION_TOMBSTONES);
		input->sizes = writer == NULL ? NULL : palloc(sizeof(uint32) * GENIE_TILE_OBJECTS);
		genie_section_reader(&input->values, input->segment, GENIE_SECTION_VALUES);
		input->value = palloc(genie_value_bytes(shape) + 1);
		genie_merge_settle(input);
		genie_merge_skip_dead(input);
	}
	if (writer != NULL)
	{
		objects = genie_object_table_writer(writer, Min(min_size, max_size), max_size);
		genie_values_begin(writer, shape);
	}
	for (;;)
	{
		GenieMergeInput *best = NULL;
		uint32		local;

		for (int i = 0; i < n_inputs; i++)
		{
			GenieMergeInput *input = &inputs[i];

			if (input->at_end || (best != NULL && input->tid > best->tid))
				continue;
			if (best != NULL && input->tid == best->tid)
			{
				/* the same TID in an earlier input: replaced */
				genie_merge_step(best, GENIE_DROPPED);
				genie_merge_skip_dead(best);
			}
			best = input;
		}
		if (best == NULL)
			break;
		local = best->object & (GENIE_TILE_OBJECTS - 1);
		if (objects != NULL)
		{
			genie_object_table_add(objects, best->tid, best->tile->runs[best->run].is_null, best->sizes[local]);
			if (shape.metric != 0)
				genie_merge_value(best, shape, writer);
		}
		genie_merge_step(best, output++);
		genie_merge_skip_dead(best);
	}
	if (writer == NULL)
		return;
	genie_object_table_finish(objects, header);
	for (int i = 0; i < n_inputs; i++)
		pfree(inputs[i].sizes);
}

/* ---- phase 2 ---- */

/* Reads the list of the keyword that the input's dictionary is on. */
static void
genie_merge_load_list(GenieMergeInput *input)
{
	GenieDictionaryCursor *cursor = &input->dictionary;

	if (cursor->list_bytes > input->list_capacity)
	{
		if (input->list != NULL)
			pfree(input->list);
		input->list_capacity = Max(cursor->list_bytes, 2 * input->list_capacity);
		input->list = MemoryContextAllocHuge(CurrentMemoryContext, input->list_capacity);
	}
	if (cursor->list_bytes < 2 ||
		!genie_section_read(&input->postings, cursor->list_at, cursor->list_bytes, input->list))
		genie_merge_corrupt(input->segment);
	input->is_loose = input->list[0] == GENIE_LIST_LOOSE;
	input->list_next = input->list + 1;
	input->list_end = input->list + cursor->list_bytes;
	input->list_tile = -1;
	input->piece = 0;
	input->n_locals = input->local = 0;
	if (input->is_loose)
	{
		if (cursor->n_postings > GENIE_LOOSE_MAX ||
			!genie_loose_decode(input->list_next, input->list_end - input->list_next,
								cursor->n_postings, input->loose))
			genie_merge_corrupt(input->segment);
		input->n_locals = cursor->n_postings;
		input->list_next = input->list_end;
		if (input->loose[input->n_locals - 1] >= input->segment->header.n_objects)
			genie_merge_corrupt(input->segment);
	}
}

/* Decodes the list's next tile; false at its end. */
static bool
genie_merge_next_tile(GenieMergeInput *input)
{
	GenieListRef ref;
	uint32		tile;
	size_t		header;

	if (input->list_next == input->list_end)
		return false;
	if (!genie_tile_header(input->list_next, input->list_end, input->list_tile, &tile, &ref, &header) ||
		ref.nbytes > (Size) (input->list_end - input->list_next) - header)
		genie_merge_corrupt(input->segment);
	ref.data = input->list_next + header;
	if (!genie_list_decode(&ref, input->locals))
		genie_merge_corrupt(input->segment);
	input->list_next += header + ref.nbytes;
	input->list_tile = tile;
	input->base = tile << GENIE_TILE_SHIFT;
	input->n_locals = ref.n;
	input->local = 0;
	if ((uint64) input->base + input->locals[ref.n - 1] >= input->segment->header.n_objects)
		genie_merge_corrupt(input->segment);
	return true;
}

/* Moves on to the last piece that begins at or before the object. */
static void
genie_merge_find_piece(GenieMergeInput *input, uint32 object)
{
	const GeniePiece *pieces = input->pieces;
	Size		low = input->piece;
	Size		step = 1;
	Size		high;

	while (low + step < input->n_pieces && pieces[low + step].first <= object)
	{
		low += step;
		step *= 2;
	}
	high = Min(low + step, input->n_pieces);
	while (high - low > 1)
	{
		Size		middle = low + (high - low) / 2;

		if (pieces[middle].first <= object)
			low = middle;
		else
			high = middle;
	}
	input->piece = low;
}

static inline uint32
genie_merge_posting(const GenieMergeInput *input, uint32 i)
{
	return input->is_loose ? input->loose[i] : input->base + input->locals[i];
}

/* The first decoded posting behind `from` that is not below the object, by galloping. */
static uint32
genie_merge_find_end(const GenieMergeInput *input, uint32 from, uint32 object)
{
	uint32		low = from;
	uint32		step = 1;
	uint32		high;

	while (low + step < input->n_locals && genie_merge_posting(input, low + step) < object)
	{
		low += step;
		step *= 2;
	}
	high = Min(low + step, input->n_locals);
	while (high - low > 1)
	{
		uint32		middle = low + (high - low) / 2;

		if (genie_merge_posting(input, middle) < object)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* Moves on to the next live postings of one piece: sets local, run_end and head. */
static void
genie_merge_next_run(GenieMergeInput *input)
{
	for (;;)
	{
		uint32		object;
		const GeniePiece *piece;

		if (input->local == input->n_locals && !genie_merge_next_tile(input))
		{
			input->head = GENIE_DROPPED;
			return;
		}
		object = genie_merge_posting(input, input->local);
		genie_merge_find_piece(input, object);
		piece = &input->pieces[input->piece];
		input->run_end = input->piece + 1 == input->n_pieces ? input->n_locals :
			genie_merge_find_end(input, input->local, piece[1].first);
		if (piece->to != GENIE_DROPPED)
		{
			input->head = piece->to + (object - piece->first);
			return;
		}
		input->local = input->run_end;
	}
}

static void
genie_merge_emit(void *arg, const uint8 *bytes, size_t n)
{
	genie_segment_write(arg, GENIE_SECTION_POSTINGS, bytes, n);
}

/* Renumbers at most `room` postings of the input's run to out; returns how many. */
static uint32
genie_merge_renumber(GenieMergeInput *input, uint32 *out, uint32 room)
{
	uint32		n = Min(input->run_end - input->local, room);
	uint32		shift = input->head - genie_merge_posting(input, input->local);

	if (input->is_loose)
		for (uint32 i = 0; i < n; i++)
			out[i] = input->loose[input->local + i] + shift;
	else
	{
		const uint16 *locals = input->locals + input->local;
		uint32		base = input->base + shift;

		for (uint32 i = 0; i < n; i++)
			out[i] = base + locals[i];
	}
	input->local += n;
	if (input->local < input->run_end)
		input->head = genie_merge_posting(input, input->local) + shift;
	return n;
}

/* Merges the lists of one keyword; returns the number of postings written. */
static uint32
genie_merge_list(GenieMergeInput **same, int n_same, GenieListEncoder *encoder,
				 GenieSegmentWriter *writer)
{
	uint32		batch[GENIE_MERGE_BATCH];
	uint32		n_batch = 0;
	uint32		n = 0;
	bool		ascends = true;

	genie_list_begin(encoder, genie_merge_emit, writer);
	for (int i = 0; i < n_same; i++)
	{
		genie_merge_load_list(same[i]);
		genie_merge_next_run(same[i]);
	}
	for (;;)
	{
		GenieMergeInput *best = same[0];

		for (int i = 1; i < n_same; i++)
			if (same[i]->head < best->head)
				best = same[i];
		if (best->head == GENIE_DROPPED)
			break;
		while (best->local < best->run_end)
		{
			uint32		part = genie_merge_renumber(best, batch + n_batch, GENIE_MERGE_BATCH - n_batch);

			n_batch += part;
			n += part;
			if (n_batch == GENIE_MERGE_BATCH)
			{
				ascends &= genie_list_add_many(encoder, batch, n_batch);
				n_batch = 0;
			}
		}
		genie_merge_next_run(best);
	}
	ascends &= genie_list_add_many(encoder, batch, n_batch);
	if (!ascends)
		genie_merge_corrupt(same[0]->segment);	/* a posting twice */
	genie_list_end(encoder);
	return n;
}

/* Places the input's dictionary cursor on the first keyword from the key on. */
static void
genie_merge_start(GenieMergeInput *input, GenieKey from)
{
	genie_dictionary_cursor(&input->dictionary, input->segment);
	genie_section_reader(&input->postings, input->segment, GENIE_SECTION_POSTINGS);
	if (from.len == 0 ? !genie_dictionary_first(&input->dictionary) :
		!genie_dictionary_seek(&input->dictionary, from, false))
		genie_merge_corrupt(input->segment);
}

void
genie_merge_part(GenieMerge *merge, GenieKey from, GenieKey to, GenieSegmentWriter *writer, GenieRootHeader *header)
{
	GenieDictionaryWriter *dictionary = genie_dictionary_begin(writer);
	GenieListEncoder *encoder = palloc(sizeof(GenieListEncoder));
	GenieMergeInput *same[GENIE_SEGMENTS_MAX];

	for (int i = 0; i < merge->n_inputs; i++)
		genie_merge_start(&merge->inputs[i], from);
	for (;;)
	{
		int			n_same = 0;
		uint64		before = genie_segment_position(writer, GENIE_SECTION_POSTINGS);
		uint32		n;

		for (int i = 0; i < merge->n_inputs; i++)
		{
			GenieMergeInput *input = &merge->inputs[i];
			int			cmp;

			if (!input->dictionary.valid)
				continue;
			cmp = n_same == 0 ? -1 : genie_key_cmp(input->dictionary.key, same[0]->dictionary.key);
			if (cmp < 0)
				n_same = 0;
			if (cmp <= 0)
				same[n_same++] = input;
		}
		if (n_same == 0 || (to.len > 0 && genie_key_cmp(same[0]->dictionary.key, to) >= 0))
			break;
		n = genie_merge_list(same, n_same, encoder, writer);
		if (n > 0)
		{
			genie_dictionary_add(dictionary, same[0]->dictionary.key, n,
								 genie_segment_position(writer, GENIE_SECTION_POSTINGS) - before);
			header->n_postings += n;
		}
		for (int i = 0; i < n_same; i++)
			if (!genie_dictionary_next(&same[i]->dictionary))
				genie_merge_corrupt(same[i]->segment);
		CHECK_FOR_INTERRUPTS();
	}
	header->n_keywords = genie_dictionary_finish(dictionary);
	pfree(encoder);
}

GenieMerge *
genie_merge_begin(GenieSegment **segments, int n_inputs, bool values, GenieSegmentWriter *writer,
				  GenieRootHeader *header)
{
	GenieMerge *merge = palloc(sizeof(GenieMerge));

	Assert(n_inputs <= GENIE_SEGMENTS_MAX);
	memset(header, 0, sizeof(*header));
	merge->n_inputs = n_inputs;
	merge->inputs = MemoryContextAllocExtended(CurrentMemoryContext, sizeof(GenieMergeInput) * n_inputs,
											   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (int i = 0; i < n_inputs; i++)
	{
		merge->inputs[i].segment = segments[i];
		merge->inputs[i].pieces_capacity = 64;
		merge->inputs[i].pieces = palloc(64 * sizeof(GeniePiece));
	}
	genie_merge_objects(merge->inputs, n_inputs, values, writer, header);
	return merge;
}

void
genie_merge_end(GenieMerge *merge)
{
	for (int i = 0; i < merge->n_inputs; i++)
	{
		GenieMergeInput *input = &merge->inputs[i];

		pfree(input->pieces);
		if (input->list != NULL)
			pfree(input->list);
		if (input->tile != NULL)
			pfree(input->objects.tiles[0]);
		pfree(input->objects.tiles);
	}
	pfree(merge->inputs);
	pfree(merge);
}

void
genie_merge_write(GenieSegment **segments, int n_inputs, bool values, GenieSegmentWriter *writer,
				  GenieRootHeader *header)
{
	const GenieKey all = {NULL, 0};
	GenieMerge *merge = genie_merge_begin(segments, n_inputs, values, writer, header);

	genie_merge_part(merge, all, all, writer, header);
	genie_merge_end(merge);
}

/* ---- parts ---- */

int
genie_merge_cuts(GenieSegment *input, int n, uint8 (*cuts)[GENIE_KEY_MAX], uint32 *lengths)
{
	GenieDictionaryCursor *cursor = palloc(sizeof(GenieDictionaryCursor));
	uint64		step = input->sections[GENIE_SECTION_POSTINGS].entry.length / n + 1;
	uint64		next = step;
	int			n_cuts = 0;

	genie_dictionary_cursor(cursor, input);
	if (!genie_dictionary_first(cursor))
		genie_merge_corrupt(input);
	while (cursor->valid && n_cuts < n - 1)
	{
		if (cursor->rank > 0 && cursor->list_at >= next)
		{
			lengths[n_cuts] = cursor->key.len;
			memcpy(cuts[n_cuts++], cursor->key.data, cursor->key.len);
			/* a list that is longer than a part leaves fewer parts */
			while (next <= cursor->list_at)
				next += step;
		}
		if (!genie_dictionary_next(cursor))
			genie_merge_corrupt(input);
	}
	pfree(cursor);
	return n_cuts;
}

/* Appends the part's posting lists: its section has nothing else. */
static void
genie_merge_append_postings(GenieSegment *part, GenieSegmentWriter *writer)
{
	GenieSectionReader *reader = palloc(sizeof(GenieSectionReader));
	uint64		length = part->sections[GENIE_SECTION_POSTINGS].entry.length;

	genie_section_reader(reader, part, GENIE_SECTION_POSTINGS);
	for (uint64 at = 0; at < length; at += GENIE_PAGE_PAYLOAD)
		genie_segment_write(writer, GENIE_SECTION_POSTINGS,
							genie_section_page(reader, (uint32) (at / GENIE_PAGE_PAYLOAD)),
							Min(length - at, GENIE_PAGE_PAYLOAD));
	pfree(reader);
}

void
genie_merge_append(GenieSegment **parts, int n, GenieSegmentWriter *writer, GenieRootHeader *header)
{
	GenieDictionaryWriter *dictionary = genie_dictionary_begin(writer);
	GenieDictionaryCursor *cursor = palloc(sizeof(GenieDictionaryCursor));

	for (int i = 0; i < n; i++)
	{
		genie_merge_append_postings(parts[i], writer);
		genie_dictionary_cursor(cursor, parts[i]);
		if (!genie_dictionary_first(cursor))
			genie_merge_corrupt(parts[i]);
		while (cursor->valid)
		{
			genie_dictionary_add(dictionary, cursor->key, cursor->n_postings, cursor->list_bytes);
			if (!genie_dictionary_next(cursor))
				genie_merge_corrupt(parts[i]);
		}
		header->n_postings += parts[i]->header.n_postings;
	}
	header->n_keywords = genie_dictionary_finish(dictionary);
	pfree(cursor);
}
