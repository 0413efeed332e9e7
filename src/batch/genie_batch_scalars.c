/*
 * genie_batch_scalars.c
 *	  Objects told by their scalars (genie_batch_scalars.h).
 *
 * Scalars are read from the index's pages.  Of one query few objects are unsure, and nearly each lies in a page of its
 * own.  So the queries take each step of GENIE_STEP_WORDS words, about a page of two scalars an object, in turn, while
 * the page is at hand.
 */
#include "postgres.h"

#include "genie_batch_scalars.h"
#include "genie_values.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"

#define GENIE_STEP_WORDS 16

/* Objects of word w that a question leaves unsure. */
static uint64
genie_batch_scalars_unsure(const GenieScalarsQuestion *question, const uint64 *counted, Size w)
{
	return question->outer[w] & counted[w] & (question->inner == NULL ? ~UINT64CONST(0) : ~question->inner[w]);
}

/* Tells the objects of word w.  False: stale. */
static bool
genie_batch_scalars_tell_word(GenieSectionReader *reader, uint32 *record, Size bytes, GenieScalarsQuestion *question,
							  uint64 unsure, Size w, Size n_words)
{
	for (; unsure != 0; unsure &= unsure - 1)
	{
		uint64		bit = unsure & -unsure;
		uint64		object = w * 64 + pg_rightmost_one_pos64(unsure);

		if (!genie_section_read(reader, object * bytes, bytes, record))
			return false;
		switch (genie_scalars_judge(question->query, record))
		{
			case GENIE_SCALARS_MATCH:
				if (question->inner == NULL)
					question->inner = palloc_extended(n_words * sizeof(uint64), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
				question->inner[w] |= bit;
				break;
			case GENIE_SCALARS_MATCH_NOT:
				question->outer[w] &= ~bit;
				break;
			case GENIE_SCALARS_UNSURE:
				break;
		}
	}
	return true;
}

bool
genie_batch_scalars_tell(GenieSegment *segment, GenieScalarsQuestion *questions, uint32 n, const uint64 *counted,
						 Size n_words)
{
	Size		bytes = genie_value_scalars_bytes(genie_values_scalars(segment));
	GenieSectionReader *reader;
	uint32	   *record;
	bool		ok = true;

	if (bytes == 0)
		return true;
	reader = palloc(sizeof(GenieSectionReader));
	record = palloc(bytes);
	genie_section_reader(reader, segment, GENIE_SECTION_VALUES);
	for (Size step = 0; step < n_words && ok; step += GENIE_STEP_WORDS)
	{
		CHECK_FOR_INTERRUPTS();
		for (uint32 i = 0; i < n && ok; i++)
			for (Size w = step; questions[i].outer != NULL && w < Min(step + GENIE_STEP_WORDS, n_words) && ok; w++)
			{
				uint64		unsure = genie_batch_scalars_unsure(&questions[i], counted, w);

				ok = unsure == 0 ||
					genie_batch_scalars_tell_word(reader, record, bytes, &questions[i], unsure, w, n_words);
			}
	}
	pfree(record);
	pfree(reader);
	return ok;
}
