/*
 * genie_value_text.h
 *	  The text of values' normalised bytes, of any family; from the items of a text form (genie_text.h) to keys.
 */
#ifndef GENIE_VALUE_TEXT_H
#define GENIE_VALUE_TEXT_H

#include "genie_compat.h"
#include "genie_text.h"
#include "genie_value_bytes.h"

/* Could these bytes, at most GENIE_VALUE_BYTES, be those of a value of the family?  For bytes from outside. */
extern bool genie_value_valid(GenieFamily family, const uint8 *data, uint32 len);

/* Appends the value's text, which depends on no setting.  Bytes without a readable form are printed as \xHEX. */
extern void genie_value_print(StringInfo out, GenieFamily family, const uint8 *data, uint32 len);

/* Has the value a readable form: is it not cut, and more than a hash? */
extern bool genie_value_is_readable(GenieFamily family, uint32 len);

/* The same without quotes and escapes: as the value's own type prints it, where there is a readable form. */
extern void genie_value_print_bare(StringInfo out, GenieFamily family, const uint8 *data, uint32 len);

/*
 * The value, whose bytes are valid, as a double: a number, or a time's seconds since 1970.  False: it is neither, or
 * was cut.
 */
extern bool genie_value_to_double(GenieFamily family, const uint8 *data, uint32 len, float8 *number);

/* Appends "dimension:family:" of a key. */
extern void genie_value_print_prefix(StringInfo out, GenieKey key);

/* The same with the key's value. */
extern void genie_value_print_key(StringInfo out, GenieKey key);

/* The key of one of the item's values, in out (room for GENIE_KEY_MAX).  Errors: the text is no value of the family. */
extern GenieKey genie_value_text_key(const GenieTextItem *item, const GenieTextValue *value, uint8 *out);

/* Raises the scanner's error; type is the name of the SQL type. */
pg_noreturn extern void genie_value_text_report(const GenieTextScanner *scanner, const char *type);

#endif							/* GENIE_VALUE_TEXT_H */
