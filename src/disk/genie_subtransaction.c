/*
 * genie_subtransaction.c
 *	  Running a function whose error must not end the transaction (genie_subtransaction.h).
 *
 * An error leaves behind buffer pins, locks, open relations and files, and the state of the error itself.  Only the end
 * of a transaction releases all of that, so the function gets a subtransaction of its own, as the procedural languages
 * give one to a block that catches errors.
 *
 * Memory.  The function runs in the caller's memory context, not in the subtransaction's, which a commit would delete:
 * its results stay.  After an error, what it allocated there stays until the caller's context goes; the error is copied
 * there, too, before the error state is flushed.
 *
 * Resources.  The end of a subtransaction makes its parent's resource owner the current one.  The caller's may be
 * another (a portal's), and its open relations are registered there, so that one is set again.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "genie_subtransaction.h"

ErrorData *
genie_subtransaction_run(GenieSubtransactionFunction function, void *arg, GenieSubtransactionEnd end)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		function(arg);
		if (end == GENIE_SUBTRANSACTION_COMMIT)
			ReleaseCurrentSubTransaction();
		else
			RollbackAndReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return error;
}
