/*
 * genie_knn_portable.c
 *	  Estimates of distances for exact nearest neighbours, in C alone.
 */
#include "genie_knn_kernel.h"
