/*
 * genie_quantized_portable.c
 *	  Distances to quantized vectors, in C alone.
 */
#include "genie_quantized_kernel.h"
