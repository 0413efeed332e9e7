# bench.mk: the benchmarks; included by the Makefile after cuda/cuda.mk.
#
#   make bench          all that needs no GPU: the papers' shapes on the CPU, then SQL by match count, by distance, and on vectors
#   make bench-papers   the first alone;  make bench-sql  the second (DATASETS="adult");  make bench-distance  the third (DATASETS="words rrna")
#   make bench-vector   the last (DATASETS="sift"; DATASETS=sift-like:1000000 makes so many)
#   make bench-worst    what used to be slow: edit distance where n-grams tell little, dead rows, pending vectors, space
#   make bench-restart  the first queries after a restart; genie_prewarm by several processes (LOADERS="0 2 7")
#   make bench-lsh      recall of the hash functions by their settings: STUDIES="l2 cosine" (test/bench/bench_lsh.c)
#   make bench-pivots   distances that a search in a metric space computes: pivots in a table, GTS's tree (SETS="words sift")
#   make bench-graph    proximity graphs of vectors: building, recall and time: GRAPHS="crowded 300000" (test/bench/bench_graph.c)
#   make bench-bitmaps  cells of arrays counted by the CPU engine and by DimsAtts, a bitmap index: BITMAPS="10000000 all 256" (test/bench/bench_bitmaps.c)
#   make bench-cuda     the papers' shapes on the GPU and the CPU
#   make bench-scan     scans of quantized vectors on the GPU and the CPU: SHAPE="l2 128 4500000 26" (test/bench/bench_scan.cpp); NVCC= without a GPU
#   make bench-devices  a large index on one GPU and on several: MILLIONS=46 of objects; GIGABYTES=12 of memory a GPU, which is less; CODES=1: codes alone (test/bench/bench_devices.cpp)
#   make bench-engine   the CPU engine's parts: codec, kernels, threads, bit lanes, key tables
#   make bench-rows     the CPU engine on real rows: ROWS=FILE (test/bench/bench_rows.c)
#   make plots          plots of the recorded figures, test/bench/results/*.tsv, in build/plots (needs gnuplot)
#
#   BENCH_SCALE=0.1     objects as a part of the papers', without a GPU; 1 needs 16 GB of memory
#   BENCH_ARGS="sift --parts=batches"    shapes and options of test/bench/bench_cuda.cpp
#   RECORD=FILE         where figures are recorded for plots

BENCH_SCALE ?= 0.1
BENCH_ARGS ?=
RECORD ?= build/bench/$(1).tsv

BENCH_CUDA_HEADERS = $(wildcard test/bench/bench_cuda*.h test/bench/bench_cuda*.cuh)
BENCH_RIVALS = build/cuda/bench_rivals.so

build/cuda/bench_cuda: $(wildcard test/bench/bench_cuda*.cpp) test/unit_cuda/genie_cuda_data.cpp $(CUDA_TEST_OBJS) $(CUDA_TEST_HEADERS) $(BENCH_CUDA_HEADERS)
	$(CXX) -std=c++17 $(CUDA_TEST_FLAGS) -O3 -o $@ $(filter %.cpp,$^) $(CUDA_TEST_OBJS) -lpthread -ldl -lm

# the engine's kernels that are measured by themselves, and the modules that they need
BENCH_RIVALS_OBJS = $(patsubst %,build/cuda/%.o,$(addprefix vectors/genie_cuda_,nearest bounds) \
	$(addprefix device/genie_cuda_,vectors results context copy memory error))

$(BENCH_RIVALS): $(wildcard test/bench/bench_cuda*.cu) $(BENCH_RIVALS_OBJS) $(BENCH_CUDA_HEADERS) $(CUDA_HEADERS) build/cuda/flags
	$(NVCC) $(NVCC_FLAGS) -shared -Xlinker -z,defs -o $@ $(filter %.cu %.o,$^)

bench: bench-papers bench-sql bench-distance bench-vector

bench-papers: build/cuda/bench_cuda
	@mkdir -p build/bench
	build/cuda/bench_cuda - --scale=$(BENCH_SCALE) --record=$(call RECORD,papers) $(BENCH_ARGS)

bench-cuda: $(CUDA_LIBRARY) $(BENCH_RIVALS) build/cuda/bench_cuda
	@mkdir -p build/bench
	build/cuda/bench_cuda $(CUDA_LIBRARY) --rivals=$(BENCH_RIVALS) --record=$(call RECORD,gpu) $(BENCH_ARGS)

bench-sql:
	test/bench/bench $(DATASETS)

bench-distance:
	test/bench/bench_distance $(DATASETS)

bench-vector:
	test/bench/bench_vector $(DATASETS)

bench-restart:
	test/bench/bench_restart

bench-worst:
	test/bench/bench_worst

build/cuda/bench_scan: test/bench/bench_scan.cpp test/unit_cuda/genie_cuda_data.cpp $(CUDA_TEST_OBJS) $(CUDA_TEST_HEADERS)
	$(CXX) -std=c++17 $(CUDA_TEST_FLAGS) -O3 -o $@ $(filter %.cpp,$^) $(CUDA_TEST_OBJS) -lpthread -ldl -lm

build/cuda/bench_devices: test/bench/bench_devices.cpp test/unit_cuda/genie_cuda_data.cpp $(CUDA_TEST_OBJS) $(CUDA_TEST_HEADERS)
	$(CXX) -std=c++17 $(CUDA_TEST_FLAGS) -O3 -o $@ $(filter %.cpp,$^) $(CUDA_TEST_OBJS) -lpthread -ldl -lm

bench-devices: $(CUDA_LIBRARY) build/cuda/bench_devices
	build/cuda/bench_devices $(CUDA_LIBRARY) $(or $(MILLIONS),46) $(or $(GIGABYTES),0) $(if $(CODES),codes)

bench-scan: $(if $(NVCC),$(CUDA_LIBRARY)) build/cuda/bench_scan
	build/cuda/bench_scan $(if $(NVCC),$(CUDA_LIBRARY),-) $(SHAPE)

build/bench_engine: test/bench/bench_engine.c test/bench/bench_time.h $(PLAIN_SOURCES) $(ALL_HEADERS)
	@mkdir -p build
	$(CC) -std=gnu99 -O3 -Wall -Wextra -Wno-unused-parameter $(PLAIN_INCLUDES) -o $@ $< $(PLAIN_SOURCES) -lm -lpthread

build/bench_bitmaps build/bench_graph build/bench_lanes build/bench_keys build/bench_pivots: build/%: test/bench/%.c test/bench/bench_time.h $(PLAIN_SOURCES) $(ALL_HEADERS)
	@mkdir -p build
	$(CC) -std=gnu99 -O3 -DNDEBUG -Wall -Wextra -Wno-unused-parameter $(PLAIN_INCLUDES) -o $@ $< $(PLAIN_SOURCES) -lm -lpthread

bench-engine: build/bench_engine build/bench_lanes build/bench_keys
	build/bench_engine
	build/bench_lanes
	build/bench_keys

build/bench_rows: test/bench/bench_rows.c test/bench/bench_time.h $(PLAIN_SOURCES) $(ALL_HEADERS)
	@mkdir -p build
	$(CC) -std=gnu99 -O3 -DNDEBUG -Wall -Wextra -Wno-unused-parameter $(PLAIN_INCLUDES) -o $@ $< $(PLAIN_SOURCES) -lpthread

bench-rows: build/bench_rows
	build/bench_rows $(ROWS)

build/bench_lsh: test/bench/bench_lsh.c test/bench/bench_time.h $(PLAIN_SOURCES) $(ALL_HEADERS)
	@mkdir -p build
	$(CC) -std=gnu99 -O3 -ffp-contract=off -DNDEBUG -Wall -Wextra -Wno-unused-parameter $(PLAIN_INCLUDES) -o $@ $< $(PLAIN_SOURCES) -lm -lpthread

bench-lsh: build/bench_lsh
	build/bench_lsh $(or $(GENIE_DATA),../shared/data) $(STUDIES)

bench-pivots: build/bench_pivots
	build/bench_pivots $(or $(GENIE_DATA),../shared/data) $(SETS)

bench-graph: build/bench_graph
	build/bench_graph $(GRAPHS)

bench-bitmaps: build/bench_bitmaps
	build/bench_bitmaps $(BITMAPS)

plots:
	test/bench/plots/plot

.PHONY: bench bench-papers bench-cuda bench-sql bench-distance bench-vector bench-restart bench-worst bench-engine bench-rows bench-lsh bench-pivots bench-graph bench-bitmaps bench-devices plots
