/*
 * genie_handler.c
 *	  The access method's table of functions, and the library's start.
 *
 * Nothing else belongs here: each function of IndexAmRoutine is in the file of its name.
 */
#include "postgres.h"

#include "access/amapi.h"
#include "commands/vacuum.h"
#include "fmgr.h"

#include "genie_build.h"
#include "genie_cost.h"
#include "genie_explain.h"
#include "genie_insert.h"
#include "genie_offload.h"
#include "genie_opclass.h"
#include "genie_options.h"
#include "genie_property.h"
#include "genie_scan.h"
#include "genie_settings.h"
#include "genie_shmem.h"
#include "genie_vacuum.h"
#include "genie_validate.h"
#include "genie_worker.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

PG_FUNCTION_INFO_V1(genie_handler);

void
_PG_init(void)
{
	genie_settings_define();
	genie_options_init();
	genie_shmem_init();
	genie_offload_init();
	genie_worker_register();
	genie_explain_init();
}

/* The index access method handler: genie_handler(internal) returns index_am_handler. */
Datum
genie_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *routine = makeNode(IndexAmRoutine);

	routine->amstrategies = 0;	/* a class may have distances of its own (genie_opclass.h) */
	routine->amsupport = GENIE_NPROC;
	routine->amoptsprocnum = GENIE_OPTIONS_PROC;
	routine->amcanorder = false;
	routine->amcanorderbyop = true;
	routine->amcanbackward = false;
	routine->amcanunique = false;
	routine->amcanmulticol = false;
	routine->amoptionalkey = true;
	routine->amsearcharray = true;
	routine->amsearchnulls = false;
	routine->amstorage = false;
	routine->amclusterable = false;
	routine->ampredlocks = false;
	routine->amcanparallel = false;
	routine->amcaninclude = false;
	routine->amusemaintenanceworkmem = true;
	routine->amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_BULKDEL | VACUUM_OPTION_PARALLEL_CLEANUP;
	routine->amkeytype = InvalidOid;

	routine->ambuild = genie_build;
	routine->ambuildempty = genie_buildempty;
	routine->aminsert = genie_insert;
	routine->ambulkdelete = genie_bulkdelete;
	routine->amvacuumcleanup = genie_vacuumcleanup;
	routine->amcanreturn = NULL;
	routine->amcostestimate = genie_costestimate;
	routine->amoptions = genie_reloptions;
	routine->amproperty = genie_property;
	routine->ambuildphasename = genie_buildphasename;
	routine->amvalidate = genie_validate;
	routine->amadjustmembers = NULL;
	routine->ambeginscan = genie_beginscan;
	routine->amrescan = genie_rescan;
	routine->amgettuple = genie_gettuple;
	routine->amgetbitmap = genie_getbitmap;
	routine->amendscan = genie_endscan;
	routine->ammarkpos = NULL;
	routine->amrestrpos = NULL;
	routine->amestimateparallelscan = NULL;
	routine->aminitparallelscan = NULL;
	routine->amparallelrescan = NULL;

	PG_RETURN_POINTER(routine);
}
