/*
 * genie_settings.h
 *	  The settings genie.* (PostgreSQL's custom configuration parameters).
 */
#ifndef GENIE_SETTINGS_H
#define GENIE_SETTINGS_H

/* Defines all of them; once, when the library is loaded, with or without preload. */
extern void genie_settings_define(void);

#endif							/* GENIE_SETTINGS_H */
