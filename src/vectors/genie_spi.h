/*
 * genie_spi.h
 *	  SQL commands by which functions make operator classes (genie_pgvector.c, genie_metric.c).  SPI is connected.
 */
#ifndef GENIE_SPI_H
#define GENIE_SPI_H

/* The first field of a query's first row, in the current memory context; NULL: there is no row, or it is NULL. */
extern char *genie_spi_look_up(const char *query, int n, Oid *types, Datum *values);

/* Runs a utility command. */
extern void genie_spi_execute(const char *command);

#endif							/* GENIE_SPI_H */
