/*
 * genie_explain.h
 *	  EXPLAIN (ANALYZE) tells what index scans did, where PostgreSQL lets an extension (18 and later).
 */
#ifndef GENIE_EXPLAIN_H
#define GENIE_EXPLAIN_H

/* Once in a process. */
extern void genie_explain_init(void);

#endif							/* GENIE_EXPLAIN_H */
