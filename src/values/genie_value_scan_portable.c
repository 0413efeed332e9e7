/*
 * genie_value_scan_portable.c
 *	  Keys of quantized vectors, in C alone.
 */
#include "genie_value_scan_kernel.h"
