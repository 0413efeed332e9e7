/*
 * genie_scan.h
 *	  Prototypes of genie_scan.c.
 */
#ifndef GENIE_SCAN_H
#define GENIE_SCAN_H

#include "access/genam.h"
#include "access/relscan.h"
#include "access/sdir.h"
#include "access/skey.h"
#include "nodes/tidbitmap.h"

extern IndexScanDesc genie_beginscan(Relation index, int n_keys, int n_order_bys);
extern void genie_rescan(IndexScanDesc scan, ScanKey keys, int n_keys, ScanKey order_bys, int n_order_bys);
extern bool genie_gettuple(IndexScanDesc scan, ScanDirection direction);
extern int64 genie_getbitmap(IndexScanDesc scan, TIDBitmap *bitmap);
extern void genie_endscan(IndexScanDesc scan);

#endif							/* GENIE_SCAN_H */
