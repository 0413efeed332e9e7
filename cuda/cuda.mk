# cuda.mk: genie_cuda.so, the CUDA engine; included by the Makefile.
#
#   make                 builds it if nvcc is found;  make NVCC= builds without
#   make cuda-library    builds it alone, without PostgreSQL's files
#   make unit-cuda       its tests against the CPU engine  (needs a GPU)
#   make unit-cuda-emulated    small cases, with the kernels run on the CPU (test/unit_cuda/emulated): needs no GPU and no nvcc, but minutes
#
#   CUDA_ARCHS="90"      only for these compute capabilities (faster to compile)
#
# Not in OBJS: PGXS would make bitcode of it.

ifeq ($(origin NVCC),undefined)
NVCC := $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
endif

CUDA_ARCHS ?= 75 80 86 89 90
# Rooms of cuda/, in the order in which they may include each other (test/check/layers).
CUDA_ROOMS = device vectors tiles lanes choose
CUDA_SOURCES = $(sort $(foreach room,$(CUDA_ROOMS),$(wildcard cuda/$(room)/*.cu)))
CUDA_OWN_HEADERS = $(sort $(foreach room,$(CUDA_ROOMS),$(wildcard cuda/$(room)/*.cuh cuda/$(room)/*.h)))
CUDA_HEADERS = $(CUDA_OWN_HEADERS) $(PLAIN_HEADERS)
CUDA_INCLUDES = $(PLAIN_INCLUDES) $(CUDA_ROOMS:%=-Icuda/%)
CUDA_EXPORTS = cuda/choose/genie_cuda.map
# Kernels that are compiled once for each number of a counter's bits: these have an object for each, all others have one.
CUDA_INSTANCES = $(addprefix tiles/genie_cuda_dense_kernel_,4 8 16) $(addprefix lanes/genie_cuda_lanes_kernel_,4 8 12)
CUDA_UNITS = $(CUDA_INSTANCES) $(filter-out %_kernel,$(CUDA_SOURCES:cuda/%.cu=%))
CUDA_OBJS = $(CUDA_UNITS:%=build/cuda/%.o)
CUDA_LIBRARY = build/cuda/genie_cuda.so

# code for each device; and PTX of the last one, from which newer devices compile themselves
CUDA_TARGETS = $(foreach arch,$(CUDA_ARCHS),-gencode arch=compute_$(arch),code=sm_$(arch)) \
	-gencode arch=compute_$(lastword $(CUDA_ARCHS)),code=compute_$(lastword $(CUDA_ARCHS))
# -ffp-contract=off as in the Makefile, on the host's side
NVCC_FLAGS = -std=c++17 -O3 -t0 -cudart static $(CUDA_INCLUDES) \
	-Xcompiler -ffp-contract=off,-fPIC,-Wall,-Wextra,-fvisibility=hidden $(CUDA_TARGETS)

# What objects are compiled by.  Of nvcc, its version: sudo may find it under another name.
build/cuda/flags: FORCE
	@mkdir -p build/cuda
	@{ $(NVCC) --version | tail -n 1; echo '$(NVCC_FLAGS)'; } >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

build/cuda/%.o: cuda/%.cu $(CUDA_HEADERS) build/cuda/flags
	@mkdir -p $(@D)
	$(NVCC) $(NVCC_FLAGS) -c -o $@ $<

# $(call cuda_instance,INSTANCE): a kernel's source is named as its instances, without the number
define cuda_instance
build/cuda/$(1).o: cuda/$(1:_$(lastword $(subst _, ,$(1)))=).cu $$(CUDA_HEADERS) build/cuda/flags
	@mkdir -p $$(@D)
	$$(NVCC) $$(NVCC_FLAGS) -DGENIE_CUDA_INSTANCE=$(lastword $(subst _, ,$(1))) -c -o $$@ $$<
$$(EMULATED)/$(1).o: $$(EMULATED)/$(1:_$(lastword $(subst _, ,$(1)))=).cu $$(EMULATED_HEADERS) test/unit_cuda/emulated/genie_cuda_emulated.h
	$$(CXX) $$(EMULATED_FLAGS) -DGENIE_CUDA_INSTANCE=$(lastword $(subst _, ,$(1))) -x c++ -c -o $$@ $$<
endef

# the choice between tiles and lanes; and the code that makes probes (genie_cuda_probe.cpp), with the codec and its kernels
CUDA_SHARED_OBJS = $(patsubst src/%.c,build/cuda/%.o,$(sort $(wildcard src/format/genie_chunk.c src/format/genie_image*.c src/format/genie_unpack*.c)) \
	src/format/genie_bits.c src/format/genie_codec.c src/engine/genie_dispatch.c)
CUDA_PLAIN_OBJS = build/cuda/choose/genie_cuda_probe.o $(CUDA_SHARED_OBJS)
CUDA_PLAIN_FLAGS = -O2 -DNDEBUG -ffp-contract=off -fPIC -fvisibility=hidden -Wall -Wextra -Wno-unused-parameter $(CUDA_INCLUDES)

build/cuda/%.o: cuda/%.cpp $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(CXX) -std=c++17 $(CUDA_PLAIN_FLAGS) -c -o $@ $<

$(CUDA_SHARED_OBJS): build/cuda/%.o: src/%.c $(PLAIN_HEADERS)
	@mkdir -p $(@D)
	$(CC) -std=gnu99 $(CUDA_PLAIN_FLAGS) -c -o $@ $<

$(CUDA_LIBRARY): $(CUDA_OBJS) $(CUDA_PLAIN_OBJS) $(CUDA_EXPORTS)
	$(NVCC) -shared -cudart static -Xlinker --version-script=$(CUDA_EXPORTS) -Xlinker -z,defs -o $@ $(CUDA_OBJS) $(CUDA_PLAIN_OBJS)

cuda-library: $(CUDA_LIBRARY)

ifneq ($(NVCC),)
all: cuda-library
install: install-cuda
install-cuda: cuda-library
	$(MKDIR_P) '$(DESTDIR)$(pkglibdir)'
	$(INSTALL_SHLIB) $(CUDA_LIBRARY) '$(DESTDIR)$(pkglibdir)/genie_cuda.so'
endif
uninstall: uninstall-cuda
uninstall-cuda:
	rm -f '$(DESTDIR)$(pkglibdir)/genie_cuda.so'

# ---- tests (and benchmarks, test/bench/bench.mk): C++ without CUDA, which open the library as the worker does ----

CUDA_TEST_FLAGS = -O2 -g -Wall -Wextra $(PLAIN_INCLUDES) -Itest/unit_cuda
CUDA_TEST_OBJS = $(PLAIN_SOURCES:src/%.c=build/cuda/plain/%.o)
CUDA_TEST_HEADERS = $(PLAIN_HEADERS) $(wildcard test/unit_cuda/*.h)

build/cuda/plain/%.o: src/%.c $(PLAIN_HEADERS)
	@mkdir -p $(@D)
	$(CC) -std=gnu99 -O3 -DNDEBUG -ffp-contract=off -Wall -Wextra -Wno-unused-parameter $(PLAIN_INCLUDES) -c -o $@ $<

build/cuda/unit_cuda: $(wildcard test/unit_cuda/*.cpp) $(CUDA_TEST_OBJS) $(CUDA_TEST_HEADERS)
	$(CXX) -std=c++17 $(CUDA_TEST_FLAGS) -o $@ $(filter %.cpp,$^) $(CUDA_TEST_OBJS) -lpthread -ldl -lm

unit-cuda: $(CUDA_LIBRARY) build/cuda/unit_cuda
	build/cuda/unit_cuda $(CUDA_LIBRARY)

# ---- the library with its kernels run on the CPU, thread by thread ----

EMULATED = build/cuda/emulated
EMULATED_FLAGS = -std=c++17 -O2 -g -fPIC -w -include test/unit_cuda/emulated/genie_cuda_emulated.h $(CUDA_ROOMS:%=-I$(EMULATED)/%) \
	-Itest/unit_cuda/emulated $(PLAIN_INCLUDES) -U_FORTIFY_SOURCE -ffp-contract=off
EMULATED_HEADERS = $(CUDA_OWN_HEADERS:cuda/%=$(EMULATED)/%)
EMULATED_OBJS = $(CUDA_UNITS:%=$(EMULATED)/%.o) $(EMULATED)/choose/genie_cuda_probe.o $(EMULATED)/genie_cuda_emulated.o

$(EMULATED)/%: cuda/% test/unit_cuda/emulated/emulated
	@mkdir -p $(@D)
	perl -0p test/unit_cuda/emulated/emulated <$< >$@

$(EMULATED)/%.o: $(EMULATED)/%.cu $(EMULATED_HEADERS) test/unit_cuda/emulated/genie_cuda_emulated.h
	$(CXX) $(EMULATED_FLAGS) -x c++ -c -o $@ $<

$(EMULATED)/%.o: $(EMULATED)/%.cpp $(EMULATED_HEADERS)
	$(CXX) $(EMULATED_FLAGS) -c -o $@ $<

$(foreach instance,$(CUDA_INSTANCES),$(eval $(call cuda_instance,$(instance))))

$(EMULATED)/genie_cuda_emulated.o: test/unit_cuda/emulated/genie_cuda_emulated.cpp test/unit_cuda/emulated/genie_cuda_emulated.h
	@mkdir -p $(EMULATED)
	$(CXX) $(EMULATED_FLAGS) -Wall -Wextra -c -o $@ $<

$(EMULATED)/genie_cuda.so: $(EMULATED_OBJS) $(CUDA_SHARED_OBJS)
	$(CXX) -shared -o $@ $^ -Wl,--version-script=$(CUDA_EXPORTS) -Wl,-z,defs

# in as many processes as there are processors
unit-cuda-emulated: $(EMULATED)/genie_cuda.so build/cuda/unit_cuda
	n=$$(nproc); seq $$n | xargs -P $$n -I{} build/cuda/unit_cuda $(EMULATED)/genie_cuda.so --tiny --part={}/$$n

.PHONY: unit-cuda-emulated
.PHONY: cuda-library install-cuda uninstall-cuda unit-cuda
