/*
 * genie_scan.h
 *	  Index scans: the access method's functions, and what batches share with them.
 */
#ifndef GENIE_SCAN_H
#define GENIE_SCAN_H

#include "access/genam.h"
#include "access/relscan.h"
#include "access/sdir.h"
#include "access/skey.h"
#include "genie_instrument.h"
#include "genie_opclass.h"
#include "nodes/tidbitmap.h"

extern IndexScanDesc genie_beginscan(Relation index, int n_keys, int n_order_bys);
extern void genie_rescan(IndexScanDesc scan, ScanKey keys, int n_keys, ScanKey order_bys, int n_order_bys);
extern bool genie_gettuple(IndexScanDesc scan, ScanDirection direction);
extern int64 genie_getbitmap(IndexScanDesc scan, TIDBitmap *bitmap);
extern void genie_endscan(IndexScanDesc scan);

/* Leads to what the scan has done; for whoever runs a part of it, and for EXPLAIN, before the scan ends. */
extern const GenieInstrument *genie_scan_instrument(IndexScanDesc scan);

/* The scan is a part of something else, whose record it has from now on. */
extern void genie_scan_is_part(IndexScanDesc scan, const GenieInstrument *whole);

/*
 * For a scan of an approximate class, after a rescan: the first rows that it gives are the n that match best, or all
 * that are not NULL, whatever the settings are.  They come by distance as far as work_mem holds them.
 */
extern void genie_scan_want(IndexScanDesc scan, uint32 n_rows);

/*
 * After a rescan: a scan that ranks by values misses no row, whatever the settings are.  With a bit a dimension, bounds
 * allow for every error; graphs are not searched.  Other scans are as they were.
 */
extern void genie_scan_allow_all_errors(IndexScanDesc scan);

/*
 * How many rows such a scan has taken beside those that it wants (GenieCandidate): known from its first row on.  A scan
 * of another class takes none.
 */
extern uint32 genie_scan_extras(IndexScanDesc scan);

#endif							/* GENIE_SCAN_H */
