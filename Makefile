# genie: an index access method for PostgreSQL 15 to 18 (PGXS)
#
#   make, make install, make uninstall, make clean   as every extension
#   make demo        installs what is missing, builds, shows genie on real data in a temporary server
#   make check-quick     house checks, unit tests, SQL tests of the release build: minutes, for daily work
#   make test        the same set-up as the demo, then every test; the last line is "N passed, N failed"
#   make installcheck    the SQL and isolation tests against a running server
#   make check-static | check-unit | check-regress | check-isolation | check-tap    one part of make test
#   make check-versions  make test's server tests on PostgreSQL 17 and 18, in chroots (test/versions)
#   make deb         Debian packages in build/deb;  make check-deb   installs and removes them in a clean chroot (test/package)
#   make dist        the archive for the PGXN in build/, of what is committed
#   make indent      rewrites the sources as pg_bsd_indent and clang-format lay them out (test/check/indent)
#   make bench       the benchmarks (test/bench/bench.mk);  make plots   plots of recorded figures
#   make unit-cuda   tests of the CUDA engine; test/gpu runs all that needs a GPU
#   make fuzz        the fuzz targets for FUZZ_SECONDS each (needs clang with libFuzzer)
#   make soak        random tables, crashes, power failures and fuzzed inputs for SOAK_MINUTES, against the installed build
#
#   NVCC=            builds without the GPU engine, which is built where nvcc is found (cuda/cuda.mk)
#   ASSERT=1         assertions, codec round trips and fault points compiled in
#   PG_CONFIG=...    which PostgreSQL
#   TESTS="..."      with check-regress, check-isolation, check-tap: only these
#
# Objects are compiled with the same flags everywhere but the plain C rooms, which get -O3.  A change of the
# flags (ASSERT=1) or of any header rebuilds all objects: PGXS tracks neither.

MODULE_big = genie
EXTENSION = genie
DATA = $(wildcard genie--*.sql)
PGFILEDESC = "genie - similarity search by match count"
HEADERS = src/format/genie_keyword.h src/math/genie_set_similarity.h src/disk/genie_compat.h src/types/genie_opclass.h
DOCS = $(wildcard src/doc/*.md)

# Rooms: includes point from a later one to an earlier one (test/check/layers).  The plain ones know no PostgreSQL.
PLAIN_ROOMS = format math values engine engine/tiles engine/lanes engine/cpu engine/devices
ROOMS = $(PLAIN_ROOMS) disk merge images worker types classes vectors search batch am
SOURCES = $(sort $(foreach room,$(ROOMS),$(wildcard src/$(room)/*.c)))
ALL_HEADERS = $(sort $(foreach room,$(ROOMS),$(wildcard src/$(room)/*.h)))
PLAIN_SOURCES = $(filter $(addsuffix /%,$(addprefix src/,$(PLAIN_ROOMS))),$(SOURCES))
PLAIN_HEADERS = $(filter $(addsuffix /%,$(addprefix src/,$(PLAIN_ROOMS))),$(ALL_HEADERS))
PLAIN_INCLUDES = $(PLAIN_ROOMS:%=-Isrc/%)
OBJS = $(SOURCES:.c=.o)
PLAIN_OBJS = $(PLAIN_SOURCES:.c=.o)

# -ffp-contract=off: distances and hash functions are rounded alike by every compiler and processor (genie_vector.h,
# genie_draw.h).  It stands here because bitcode is made with these flags, too.
PG_CPPFLAGS = $(ROOMS:%=-Isrc/%) -ffp-contract=off
PG_CFLAGS = -Wall -Wextra -Wmissing-prototypes -Wdeclaration-after-statement \
	-Wno-unused-parameter -Wno-sign-compare -fno-semantic-interposition
ifdef ASSERT
PG_CPPFLAGS += -DUSE_ASSERT_CHECKING -DGENIE_CHECK_ROUNDTRIP -DGENIE_FAULTS
# Allocations go through genie_fault.c.
WRAPPED = palloc palloc0 palloc_extended repalloc repalloc_huge MemoryContextAlloc MemoryContextAllocZero MemoryContextAllocZeroAligned \
	MemoryContextAllocHuge MemoryContextAllocExtended AllocSetContextCreateInternal malloc calloc realloc posix_memalign
endif

# Only what PostgreSQL looks up by name is exported: a linker version script made from the sources.
# (Hiding by default would hide the magic block and the SQL functions too, for PostgreSQL 15 marks neither.)
SHLIB_EXPORTS = build/exports.txt
SHLIB_LINK = -lpthread $(WRAPPED:%=-Wl,--wrap=%)

# pg_regress makes the extension in its database, so no test creates it.
REGRESS = $(patsubst sql/%.sql,%,$(sort $(wildcard sql/*.sql)))
REGRESS_OPTS = --load-extension=genie --launcher='$(CURDIR)/test/normalize'
# Specs named fault_* stop sessions at fault points, which only the assert build has.
ISOLATION = $(filter-out $(if $(ASSERT),,fault_%),$(patsubst test/isolation/specs/%.spec,%,$(sort $(wildcard test/isolation/specs/*.spec))))
ISOLATION_OPTS = --inputdir=test/isolation --load-extension=genie
EXTRA_CLEAN = build log

PG_CONFIG := $(shell PG_CONFIG='$(PG_CONFIG)' test/pg_config)
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)

ifneq ($(wildcard $(PGXS)),)
# A PostgreSQL built with LLVM wants bitcode; without its clang the extension is built without.
ifeq ($(shell command -v $$(sed -n 's/^CLANG *= *//p' $(dir $(PGXS))../Makefile.global)),)
override with_llvm := no
endif
include $(PGXS)
# Pages in a folder of their own; their names are too common for the one that extensions share.
docmoduledir = genie
# PGXS would look for them there by their path in the tree.
uninstall: uninstall-docs
uninstall-docs:
	rm -f $(addprefix '$(DESTDIR)$(docdir)/$(docmoduledir)'/,$(notdir $(DOCS)))
	rmdir '$(DESTDIR)$(docdir)/$(docmoduledir)' 2>/dev/null || true
.PHONY: uninstall-docs
else
all install uninstall clean installcheck:
	@echo "PostgreSQL's development files are missing: install postgresql-server-dev-NN (15 to 18), or name PG_CONFIG=..." >&2; exit 1
endif

$(PLAIN_OBJS): override CFLAGS += -O3
ifndef ASSERT
$(PLAIN_OBJS): override CPPFLAGS += -DNDEBUG
endif

$(OBJS) $(OBJS:.o=.bc): $(ALL_HEADERS) build/flags

build/flags: FORCE
	@mkdir -p build
	@echo '$(CC) $(CPPFLAGS) $(CFLAGS)' | cmp -s - $@ || echo '$(CC) $(CPPFLAGS) $(CFLAGS)' >$@

build/exports.txt: $(SOURCES) Makefile
	@mkdir -p build
	test/check/exports --list $(SOURCES) >$@

# ---- unit tests and fuzz targets: plain C, without PostgreSQL, under sanitizers ----

UNIT_PROGRAMS = $(patsubst test/unit/%.c,build/unit/%,$(sort $(wildcard test/unit/test_*.c)))
FUZZ_PROGRAMS = $(patsubst test/fuzz/%.c,build/unit/%,$(sort $(filter-out test/fuzz/fuzz_main.c,$(wildcard test/fuzz/fuzz_*.c))))
UNIT_HEADERS = $(PLAIN_HEADERS) $(wildcard test/unit/*.h)
UNIT_OBJS = $(PLAIN_SOURCES:src/%.c=build/unit/%.o)
UNIT_CFLAGS = -std=gnu99 -g -O1 -Wall -Wextra -Wno-sign-compare -Wno-unused-parameter -fno-omit-frame-pointer \
	-ffp-contract=off -DGENIE_CHECK_ROUNDTRIP $(PLAIN_INCLUDES) -Itest/unit
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all

build/unit/%.o: src/%.c $(UNIT_HEADERS) Makefile
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) $(SANITIZE) -c -o $@ $<

build/unit/test_%: test/unit/test_%.c $(UNIT_OBJS) $(UNIT_HEADERS)
	@mkdir -p build/unit
	$(CC) $(UNIT_CFLAGS) $(SANITIZE) -o $@ $< $(UNIT_OBJS) -lm -lpthread

build/unit/fuzz_%: test/fuzz/fuzz_%.c test/fuzz/fuzz_main.c $(UNIT_OBJS) $(UNIT_HEADERS)
	@mkdir -p build/unit
	$(CC) $(UNIT_CFLAGS) $(SANITIZE) -o $@ $< test/fuzz/fuzz_main.c $(UNIT_OBJS) -lm -lpthread

# Those that use threads once more, under ThreadSanitizer, which excludes the others.
RACE_PROGRAMS = build/race/test_threads build/race/test_batch build/race/test_scan build/race/test_proximity \
	build/race/test_engines
RACE_OBJS = $(PLAIN_SOURCES:src/%.c=build/race/%.o)

build/race/%.o: src/%.c $(UNIT_HEADERS) Makefile
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) -fsanitize=thread -c -o $@ $<

build/race/test_%: test/unit/test_%.c $(RACE_OBJS) $(UNIT_HEADERS)
	$(CC) $(UNIT_CFLAGS) -fsanitize=thread -o $@ $< $(RACE_OBJS) -lm -lpthread

unit-programs: $(UNIT_PROGRAMS) $(FUZZ_PROGRAMS) $(RACE_PROGRAMS)

print-unit-programs:
	@echo $(RACE_PROGRAMS) $(UNIT_PROGRAMS) $(FUZZ_PROGRAMS)

FUZZ_SECONDS = 60
fuzz:
	@mkdir -p build/fuzz
	@for target in $(FUZZ_PROGRAMS:build/unit/fuzz_%=%); do \
		mkdir -p build/fuzz/corpus-$$target; \
		clang $(UNIT_CFLAGS) -fsanitize=fuzzer,address,undefined -o build/fuzz/fuzz_$$target \
			test/fuzz/fuzz_$$target.c $(PLAIN_SOURCES) -lm -lpthread || exit 1; \
		build/fuzz/fuzz_$$target -max_total_time=$(FUZZ_SECONDS) build/fuzz/corpus-$$target test/fuzz/corpus/$$target || exit 1; \
	done

soak: $(FUZZ_PROGRAMS)
	test/soak/run

# ---- engines that misbehave on demand: make fake-engine ----

include test/engine/engine.mk
include cuda/cuda.mk
include test/bench/bench.mk

# ---- tests on servers of their own, the demo ----

test:
	test/setup
	test/run

check-quick check-static check-unit check-regress check-isolation check-tap:
	test/run $(@:check-%=%)

check-versions:
	test/versions

deb dist:
	test/package/$@

check-deb:
	test/package/check

indent:
	test/check/indent --fix

demo:
	test/demo/demo

FORCE:
.PHONY: FORCE test check-versions deb dist check-deb demo fuzz soak indent unit-programs print-unit-programs check-quick check-static check-unit check-regress check-isolation check-tap
