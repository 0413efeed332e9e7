/*
 * genie_value_bits_portable.c
 *	  Keys of bit strings, in C alone.
 */
#include "genie_value_bits_kernel.h"
