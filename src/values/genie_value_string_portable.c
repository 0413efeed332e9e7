/*
 * genie_value_string_portable.c
 *	  Keys of short texts, in C alone.
 */
#include "genie_value_string_kernel.h"
