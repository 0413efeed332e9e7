# The fake engine (genie_fake_engine.c) and the same with a wrong ABI number: libraries for tests, never installed.

FAKE_ENGINES = build/genie_fake_engine.so build/genie_old_engine.so
FAKE_CFLAGS = -std=gnu99 -g -O2 -Wall -Wextra -Wno-unused-parameter -fPIC $(PLAIN_INCLUDES)

# The version script hides all but what an engine exports, as the GPU engine's library does.
build/genie_fake_engine.so build/genie_old_engine.so: test/engine/genie_fake_engine.c $(PLAIN_OBJS) test/engine/engine.mk
	@mkdir -p build
	$(CC) $(FAKE_CFLAGS) $(if $(findstring old,$@),-DGENIE_FAKE_ABI=1) -shared -Wl,--version-script=$(CUDA_EXPORTS) \
		-o $@ $< $(PLAIN_OBJS) -lm -lpthread

fake-engine: $(FAKE_ENGINES)
.PHONY: fake-engine
