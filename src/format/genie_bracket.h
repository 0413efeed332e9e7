/*
 * genie_bracket.h
 *	  Trees in bracket notation, {a{b}{c{d}}}: an ordered tree whose nodes have labels.
 *
 *		tree	= "{" label { tree } "}"
 *		label	= { any character but  { } \  |  "\" any character }
 *
 * A backslash takes away what the character behind it means, no more: "\n" is the letter n.  A label is all that
 * stands between a "{" and the next brace, white space too, and may be empty.  White space before and behind a
 * tree means nothing.
 *
 * Plain C99, nothing allocates, no recursion, the text need not end with a zero byte: the fuzzer links this alone.
 * Bytes are looked at one by one, so every encoding serves whose characters of several bytes contain no ASCII
 * bytes, as the server's do.
 */
#ifndef GENIE_BRACKET_H
#define GENIE_BRACKET_H

#include <stddef.h>
#include <stdint.h>

#define GENIE_BRACKET_NONE	UINT32_MAX

/* Nodes are numbered in preorder: parents before children, children from left to right. */
typedef struct GenieBracketNode
{
	const char *label;			/* in the text, as it is written: genie_bracket_label() */
	size_t		label_len;
	uint32_t	parent;			/* these four: GENIE_BRACKET_NONE if there is none */
	uint32_t	first_child;
	uint32_t	last_child;
	uint32_t	next_sibling;
} GenieBracketNode;

typedef enum GenieBracketResult
{
	GENIE_BRACKET_TREE,
	GENIE_BRACKET_MALFORMED,
	GENIE_BRACKET_FULL			/* more nodes than there is room for */
} GenieBracketResult;

typedef struct GenieBracketError
{
	const char *message;
	size_t		at;				/* byte of the text, or its length */
} GenieBracketError;

/* Reads one tree into at most capacity nodes, *n of them.  *error is set if the text is malformed. */
extern GenieBracketResult genie_bracket_parse(const char *text, size_t len, GenieBracketNode *nodes, uint32_t capacity,
											  uint32_t *n, GenieBracketError *error);

/*
 * Writes a node's label with a backslash before  { } \  and nowhere else, so that equal labels give equal bytes;
 * room for label_len.  Returns how many bytes.
 */
extern size_t genie_bracket_label(char *out, const GenieBracketNode *node);

/* The same for a label without escapes; room for twice its length. */
extern size_t genie_bracket_escape(char *out, const char *label, size_t len);

#endif							/* GENIE_BRACKET_H */
