/*
 * genie_validate.h
 *	  Prototypes of genie_validate.c.
 */
#ifndef GENIE_VALIDATE_H
#define GENIE_VALIDATE_H

extern bool genie_validate(Oid opclass_oid);

#endif							/* GENIE_VALIDATE_H */
