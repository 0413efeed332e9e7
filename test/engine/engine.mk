# The fake engine (genie_fake_engine.c) and the same with a wrong ABI number: libraries for tests, never installed.

FAKE_ENGINES = build/genie_fake_engine.so build/genie_old_engine.so
FAKE_CFLAGS = -std=gnu99 -g -O2 -Wall -Wextra -Wno-unused-parameter -fPIC -fvisibility=hidden $(PLAIN_INCLUDES)

build/genie_fake_engine.so build/genie_old_engine.so: test/engine/genie_fake_engine.c $(PLAIN_SOURCES) $(ALL_HEADERS) test/engine/engine.mk
	@mkdir -p build
	$(CC) $(FAKE_CFLAGS) $(if $(findstring old,$@),-DGENIE_FAKE_ABI=1) -shared -o $@ $< $(PLAIN_SOURCES) -lpthread

fake-engine: $(FAKE_ENGINES)
.PHONY: fake-engine
