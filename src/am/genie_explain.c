/*
 * genie_explain.c
 *	  EXPLAIN (ANALYZE) tells what index scans did (genie_explain.h).
 *
 * It shows the record that genie_last_scan() shows, under each plan node that is a scan of a genie index: two lines in
 * text, a group of properties in other formats.  What a node's rescans did is summed, not averaged; what parallel
 * workers did is not shown.  Without TIMING there are no times.
 */
#include "postgres.h"

#include "genie_compat.h"
#include "genie_explain.h"

#ifdef GENIE_HAS_EXPLAIN_HOOK

#include "commands/explain.h"
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#include "lib/stringinfo.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "genie_instrument.h"
#include "genie_scan.h"

#define US_PER_MS 1000.0

static explain_per_node_hook_type previous_hook = NULL;

/* The node's scan of a genie index; NULL: it has none, or it was never executed. */
static IndexScanDesc
scan_of(PlanState *node)
{
	IndexScanDesc scan = NULL;

	if (IsA(node, IndexScanState))
		scan = castNode(IndexScanState, node)->iss_ScanDesc;
	else if (IsA(node, BitmapIndexScanState))
		scan = castNode(BitmapIndexScanState, node)->biss_ScanDesc;
	if (scan == NULL || scan->indexRelation->rd_indam->ambeginscan != genie_beginscan)
		return NULL;
	return scan;
}

static void
show_as_text(const GenieScanRecord *record, ExplainState *es)
{
	const char *why = genie_instrument_reasons(record);

	ExplainIndentText(es);
	appendStringInfo(es->str, "Genie: gpu=" UINT64_FORMAT " worker=" UINT64_FORMAT " session=" UINT64_FORMAT,
					 record->n_by_gpu, record->n_by_worker_cpu, record->n_by_backend);
	if (why[0] != '\0')
		appendStringInfo(es->str, " (%s)", why);
	appendStringInfo(es->str, " segments=%u pending=" UINT64_FORMAT " rounds=" UINT64_FORMAT
					 " candidates=" UINT64_FORMAT " visited=" UINT64_FORMAT "\n",
					 record->n_segments, record->n_pending, record->n_rounds, record->n_candidates, record->n_visited);
	if (record->n_by_graph > 0)
	{
		ExplainIndentText(es);
		appendStringInfo(es->str, "Genie Graphs: " UINT64_FORMAT "\n", record->n_by_graph);
	}
	if (es->timing)
	{
		ExplainIndentText(es);
		appendStringInfo(es->str, "Genie Timing: wait=%0.3f count=%0.3f\n",
						 record->wait_us / US_PER_MS, record->count_us / US_PER_MS);
	}
}

static void
show_as_properties(const GenieScanRecord *record, ExplainState *es)
{
	ExplainOpenGroup("Genie", "Genie", true, es);
	ExplainPropertyUInteger("Answered by GPU", NULL, record->n_by_gpu, es);
	ExplainPropertyUInteger("Answered by Worker CPU", NULL, record->n_by_worker_cpu, es);
	ExplainPropertyUInteger("Answered by Backend", NULL, record->n_by_backend, es);
	ExplainPropertyUInteger("By Graph", NULL, record->n_by_graph, es);
	ExplainPropertyText("Fallback Reasons", genie_instrument_reasons(record), es);
	ExplainPropertyUInteger("Segments", NULL, record->n_segments, es);
	ExplainPropertyUInteger("Pending Rows", NULL, record->n_pending, es);
	ExplainPropertyUInteger("Rounds", NULL, record->n_rounds, es);
	ExplainPropertyUInteger("Candidates", NULL, record->n_candidates, es);
	ExplainPropertyUInteger("Rows Visited", NULL, record->n_visited, es);
	if (es->timing)
	{
		ExplainPropertyFloat("Wait Time", "ms", record->wait_us / US_PER_MS, 3, es);
		ExplainPropertyFloat("Count Time", "ms", record->count_us / US_PER_MS, 3, es);
	}
	ExplainCloseGroup("Genie", "Genie", true, es);
}

static void
explain_node(PlanState *node, List *ancestors, const char *relationship, const char *plan_name, ExplainState *es)
{
	IndexScanDesc scan = es->analyze ? scan_of(node) : NULL;
	const GenieScanRecord *record = scan == NULL ? NULL : genie_instrument_record(genie_scan_instrument(scan));

	if (previous_hook != NULL)
		previous_hook(node, ancestors, relationship, plan_name, es);
	if (record == NULL)
		return;
	if (es->format == EXPLAIN_FORMAT_TEXT)
		show_as_text(record, es);
	else
		show_as_properties(record, es);
}

void
genie_explain_init(void)
{
	previous_hook = explain_per_node_hook;
	explain_per_node_hook = explain_node;
}

#else

void
genie_explain_init(void)
{
}

#endif
