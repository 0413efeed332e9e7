/*
 * genie_value_text.h
 *	  Between the items of a text form (genie_text.h) and keys, and its errors.
 */
#ifndef GENIE_VALUE_TEXT_H
#define GENIE_VALUE_TEXT_H

#include "genie_text.h"
#include "lib/stringinfo.h"

/* The key of one of the item's values, in out (room for GENIE_KEY_MAX). */
extern GenieKey genie_value_text_key(const GenieTextItem *item, const GenieTextValue *value, uint8 *out);

/* Raises the scanner's error; type is the name of the SQL type. */
extern void genie_value_text_report(const GenieTextScanner *scanner, const char *type) pg_attribute_noreturn();

/* "dimension:family:", and with the value */
extern void genie_value_print_prefix(StringInfo out, GenieKey key);
extern void genie_value_print_key(StringInfo out, GenieKey key);

#endif							/* GENIE_VALUE_TEXT_H */
