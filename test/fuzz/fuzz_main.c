/*
 * fuzz_main.c
 *	  Runs a fuzz target over files, or over many mutations of them.
 *
 *		fuzz_TARGET FILE ...					each file
 *		fuzz_TARGET -n N -s SEED FILE ...		N inputs, each a file with some of its bytes changed
 *
 * A fuzz target is a file with LLVMFuzzerTestOneInput.  libFuzzer brings its own main; where
 * there is none (gcc, "make test") this one replays the corpus.  Each input is
 * copied to memory of exactly its length, so that the address sanitizer sees a read
 * past its end.  A mutation depends on the seed and its number alone; the one that fails is written to
 * fuzz-failed in the current folder.
 */
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "genie_test.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX (1 << 20)		/* bytes; a corpus file is far smaller */
#define MUTATED_MAX 4096		/* bytes of a mutated input */

typedef struct Input
{
	uint8_t    *data;
	size_t		size;
} Input;

/* what runs, for the handler of its failure */
static Input running;

static void
run(const uint8_t *data, size_t size)
{
	running.data = malloc(size > 0 ? size : 1);
	running.size = size;
	if (running.data == NULL)
	{
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	memcpy(running.data, data, size);
	LLVMFuzzerTestOneInput(running.data, size);
	free(running.data);
}

/* sanitizers abort, too, so that every failure comes by the handler below */
extern const char *__asan_default_options(void);
extern const char *__ubsan_default_options(void);

const char *
__asan_default_options(void)
{
	return "abort_on_error=1:detect_leaks=0";
}

const char *
__ubsan_default_options(void)
{
	return "abort_on_error=1:print_stacktrace=1";
}

/* The process is lost; so what is not safe in a handler is tried all the same. */
static void
save_input(int number)
{
	FILE	   *file = fopen("fuzz-failed", "wb");

	if (file != NULL)
	{
		fwrite(running.data, 1, running.size, file);
		fclose(file);
	}
	signal(number, SIG_DFL);
	raise(number);
}

static bool
read_file(const char *path, Input *input)
{
	FILE	   *file = fopen(path, "rb");

	if (file == NULL)
	{
		perror(path);
		return false;
	}
	input->data = malloc(INPUT_MAX);
	if (input->data == NULL)
	{
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	input->size = fread(input->data, 1, INPUT_MAX, file);
	fclose(file);
	return true;
}

/* Changes the input in one place; other gives bytes to copy. */
static size_t
mutate_once(GenieRandom *random, uint8_t *data, size_t size, const Input *other)
{
	static const uint8_t edges[] = {0, 1, 0x7F, 0x80, 0xFE, 0xFF, '{', '}', ',', ':', '"', '\\'};
	size_t		at = (size_t) genie_random_below(random, size + 1);
	size_t		n = (size_t) genie_random_below(random, 8) + 1;

	switch (genie_random_below(random, 7))
	{
		case 0:
			if (at < size)
				data[at] ^= (uint8_t) (1 << genie_random_below(random, 8));
			break;
		case 1:
			if (at < size)
				data[at] = edges[genie_random_below(random, sizeof(edges))];
			break;
		case 2:
			if (at < size)
				data[at] = (uint8_t) genie_random_below(random, 256);
			break;
		case 3:					/* bytes out */
			n = n < size - at ? n : size - at;
			memmove(data + at, data + at + n, size - at - n);
			size -= n;
			break;
		case 4:					/* bytes in */
			if (size + n <= MUTATED_MAX)
			{
				memmove(data + at + n, data + at, size - at);
				for (size_t i = 0; i < n; i++)
					data[at + i] = (uint8_t) genie_random_below(random, 256);
				size += n;
			}
			break;
		case 5:					/* bytes of another file */
			if (other->size > 0)
			{
				size_t		from = (size_t) genie_random_below(random, other->size);

				n = (size_t) genie_random_below(random, 64) + 1;
				n = n < other->size - from ? n : other->size - from;
				n = n < MUTATED_MAX - at ? n : MUTATED_MAX - at;
				memcpy(data + at, other->data + from, n);
				size = at + n > size ? at + n : size;
			}
			break;
		case 6:					/* cut off */
			size = at;
			break;
	}
	return size;
}

static void
run_mutations(GenieRandom *random, long n_inputs, const Input *inputs, int n_files)
{
	static uint8_t data[MUTATED_MAX];

	for (long i = 0; i < n_inputs; i++)
	{
		const Input *input = &inputs[genie_random_below(random, n_files)];
		size_t		size = input->size < MUTATED_MAX ? input->size : MUTATED_MAX;
		int			n = (int) genie_random_below(random, 6) + 1;

		memcpy(data, input->data, size);
		while (n-- > 0)
			size = mutate_once(random, data, size, &inputs[genie_random_below(random, n_files)]);
		run(data, size);
	}
}

int
main(int argc, char **argv)
{
	Input	   *inputs;
	long		n_inputs = 0;
	uint64_t	seed = 1;
	int			n_files = 0;
	int			option;
	GenieRandom random;

	while ((option = getopt(argc, argv, "n:s:")) != -1)
	{
		if (option == 'n')
			n_inputs = atol(optarg);
		else if (option == 's')
			seed = strtoull(optarg, NULL, 10);
		else
			return 2;
	}
	inputs = calloc((size_t) argc, sizeof(Input));
	for (int i = optind; i < argc; i++)
		n_files += read_file(argv[i], &inputs[n_files]);
	if (n_inputs > 0 && n_files > 0)
	{
		signal(SIGABRT, save_input);
		random.state = seed;
		run_mutations(&random, n_inputs, inputs, n_files);
	}
	else
		for (int i = 0; i < n_files; i++)
			run(inputs[i].data, inputs[i].size);
	printf("%ld inputs run, %d files not read\n", n_inputs > 0 ? n_inputs : n_files, argc - optind - n_files);
	for (int i = 0; i < n_files; i++)
		free(inputs[i].data);
	free(inputs);
	return argc - optind == n_files ? 0 : 1;
}
