/*
 * genie_subtransaction.h
 *	  Running a function whose error must not end the transaction.
 */
#ifndef GENIE_SUBTRANSACTION_H
#define GENIE_SUBTRANSACTION_H

/* What is run; it leaves its result in *arg, which holds nothing of use after an error. */
typedef void (*GenieSubtransactionFunction) (void *arg);

/*
 * Runs the function in an internal subtransaction.  NULL: it returned, and the subtransaction is committed.  Else the
 * error that it raised, whichever that is, a cancel included: what it held is released, and what it wrote to the index
 * stays, as after every error.  The caller frees the error (FreeErrorData) or raises it again (ReThrowError).
 *
 * PostgreSQL allows no subtransaction while IsInParallelMode(); the caller asks first.
 */
extern ErrorData *genie_subtransaction_run(GenieSubtransactionFunction function, void *arg);

#endif							/* GENIE_SUBTRANSACTION_H */
