/*
 * genie_heap.h
 *	  The k first of many elements, as a heap with the last of them on top.
 *
 * An array of n elements is a heap if no element i comes before one of the two below it, at 2 i + 1 and 2 i + 2.
 * GENIE_HEAP(name, Element, comes_before) defines two functions; comes_before(&a, &b) tells whether a comes before b:
 *
 *	name_add(heap, n, element)		adds one to a heap of n others, which has room for it
 *	name_replace(heap, n, element)	replaces the last of a heap of n, which is on top
 */
#ifndef GENIE_HEAP_H
#define GENIE_HEAP_H

#include <stdint.h>

#define GENIE_HEAP(name, Element, comes_before) \
static inline void \
name##_add(Element *heap, uint32_t n, Element added) \
{ \
	while (n > 0 && comes_before(&heap[(n - 1) / 2], &added)) \
	{ \
		heap[n] = heap[(n - 1) / 2]; \
		n = (n - 1) / 2; \
	} \
	heap[n] = added; \
} \
static inline void \
name##_replace(Element *heap, uint32_t n, Element added) \
{ \
	uint32_t	at = 0; \
\
	for (uint32_t child = 1; child < n; child = 2 * at + 1) \
	{ \
		if (child + 1 < n && comes_before(&heap[child], &heap[child + 1])) \
			child++; \
		if (!comes_before(&added, &heap[child])) \
			break; \
		heap[at] = heap[child]; \
		at = child; \
	} \
	heap[at] = added; \
}

#endif							/* GENIE_HEAP_H */
