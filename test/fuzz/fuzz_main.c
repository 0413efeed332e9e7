/*
 * fuzz_main.c
 *	  Runs a fuzz target over the files named as arguments.
 *
 * A fuzz target is a file with LLVMFuzzerTestOneInput.  libFuzzer brings its own main; where
 * there is none (gcc, "make test") this one replays the corpus.  Each input is
 * copied to memory of exactly its length, so that the address sanitizer sees a read
 * past its end.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX (1 << 20)		/* bytes; a corpus file is far smaller */

static int
run_file(const char *path, uint8_t *buffer)
{
	FILE	   *file = fopen(path, "rb");
	uint8_t    *input;
	size_t		size;

	if (file == NULL)
	{
		perror(path);
		return 1;
	}
	size = fread(buffer, 1, INPUT_MAX, file);
	fclose(file);

	input = malloc(size > 0 ? size : 1);
	if (input == NULL)
	{
		fprintf(stderr, "out of memory\n");
		return 1;
	}
	memcpy(input, buffer, size);
	LLVMFuzzerTestOneInput(input, size);
	free(input);
	return 0;
}

int
main(int argc, char **argv)
{
	uint8_t    *buffer = malloc(INPUT_MAX);
	int			failed = 0;

	if (buffer == NULL)
	{
		fprintf(stderr, "out of memory\n");
		return 1;
	}
	for (int i = 1; i < argc; i++)
		failed += run_file(argv[i], buffer);
	free(buffer);
	printf("%d inputs run, %d failed\n", argc - 1, failed);
	return failed == 0 ? 0 : 1;
}
