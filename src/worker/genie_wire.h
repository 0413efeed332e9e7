/*
 * genie_wire.h
 *	  A request as it lies in shared memory: written by a backend, read and answered by the worker.
 */
#ifndef GENIE_WIRE_H
#define GENIE_WIRE_H

#include "genie_request.h"

typedef struct GenieWire GenieWire;

/* The jobs that a request is to have, and how much room they take.  In the current memory context. */
typedef struct GenieWirePlan GenieWirePlan;

extern GenieWirePlan *genie_wire_plan(void);
extern void genie_wire_plan_add(GenieWirePlan *plan, const GenieRequestJob *job);
extern Size genie_wire_plan_bytes(const GenieWirePlan *plan);
extern void genie_wire_plan_free(GenieWirePlan *plan);

/*
 * The backend: writes the jobs that were planned, in their order, and reads their answers.  Results for which the jobs
 * have no room stay where they are (stays), or get room in the current memory context.  Returns the time, in us, that
 * the worker has counted.
 */
extern void genie_wire_write(const GenieWirePlan *plan, GenieWire *wire, const GenieRequestJob *jobs);
extern uint64 genie_wire_read_answer(GenieWire *wire, bool stays, GenieRequestJob *jobs);

/*
 * The worker: fills in the jobs as the engine wants them, in the current memory context; their input and their
 * results stay where they are in the request.  Then it writes the answers: n_hits and has_bounds of jobs that are done,
 * for each why it is not, and the time, in us, that it has counted.
 */
extern void genie_wire_read(GenieWire *wire, GenieTaken *taken);
extern void genie_wire_answer(GenieWire *wire, const GenieTaken *taken, const GenieAnswer *answers, uint64 count_us);

#endif							/* GENIE_WIRE_H */
