/*
 * genie_subtransaction.h
 *	  Running a function whose error must not end the transaction.
 */
#ifndef GENIE_SUBTRANSACTION_H
#define GENIE_SUBTRANSACTION_H

/* What is run; it leaves its result in *arg, which holds nothing of use after an error. */
typedef void (*GenieSubtransactionFunction) (void *arg);

typedef enum GenieSubtransactionEnd
{
	GENIE_SUBTRANSACTION_COMMIT,	/* locks and pins that the function leaves are its caller's */
	GENIE_SUBTRANSACTION_ABORT	/* they are released, on standbys too */
} GenieSubtransactionEnd;

/*
 * Runs the function in an internal subtransaction, and ends that as is wanted.  NULL: the function returned.  Else the
 * error that it raised, whichever that is, a cancel included: what it held is released.  What it wrote to the index
 * stays in every case.  The caller frees the error (FreeErrorData) or raises it again (ReThrowError).
 *
 * PostgreSQL allows no subtransaction while IsInParallelMode(); the caller asks first.
 */
extern ErrorData *genie_subtransaction_run(GenieSubtransactionFunction function, void *arg, GenieSubtransactionEnd end);

#endif							/* GENIE_SUBTRANSACTION_H */
