/*
 * genie_spi.c
 *	  SQL commands by which functions make operator classes (genie_spi.h).
 */
#include "postgres.h"

#include "executor/spi.h"

#include "genie_spi.h"

char *
genie_spi_look_up(const char *query, int n, Oid *types, Datum *values)
{
	if (SPI_execute_with_args(query, n, types, values, NULL, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not read the catalogs");
	return SPI_processed == 0 ? NULL : SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
}

void
genie_spi_execute(const char *command)
{
	if (SPI_execute(command, false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "could not execute \"%s\"", command);
}
