# gradus: `make help` lists the targets and variables. Needs GNU make, sh, awk and a C compiler; the tests need cmocka.
REAL    ?= float
B       ?= build
PREFIX  ?= /usr/local
CFLAGS  ?= -g
comma   := ,
$(if $(filter float double,$(REAL)),,$(error REAL is float or double))
CONFIG  := $(notdir $(lastword $(CC)))$(if $(SAN),-$(subst $(comma),-,$(SAN)))$(if $(BLAS),-$(BLAS))
DIR     := $(B)/$(CONFIG)/$(REAL)
VERSION := $(shell awk '/GR_VERSION_TEXT/ { gsub(/"/, "", $$3); print $$3; exit }' core/tape.h)
CLANG   := $(findstring clang,$(shell $(CC) --version 2>/dev/null))
MACHINE := $(shell $(CC) -dumpmachine 2>/dev/null)
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
endif

# Compiling. BITS: no contraction keeps the bits, the next two change no result and let loops vectorise, and so do gcc's own two at -O2.
WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wdouble-promotion -Wmissing-prototypes -Wstrict-prototypes $(if $(WERROR),-Werror)
BITS    := -ffp-contract=off -fno-math-errno -fno-trapping-math $(if $(CLANG),,-ftree-vectorize -fvect-cost-model=dynamic)
MODE    := $(if $(SAN),-O1 -fno-omit-frame-pointer -fsanitize=$(SAN) -fno-sanitize-recover=all,-O3 -DNDEBUG)
BUILD    = -std=c11 -D_GNU_SOURCE -I. -fPIC -pthread -fvisibility=hidden $(WARN) $(MODE) $(if $(filter double,$(REAL)),-DGR_REAL_DOUBLE) \
           $(if $(ISAS),,-DGR_ONE_ISA) $(if $(BLAS),-DGR_OPENBLAS) $(CFLAGS) $(BITS)
LINK     = $(CC) $(CFLAGS) $(if $(SAN),-fsanitize=$(SAN)) $(LDFLAGS)
LIBS    := $(if $(BLAS),-l$(BLAS)) -lm -pthread
CMOCKA  := $(shell pkg-config --cflags --libs cmocka 2>/dev/null || echo -lcmocka)

# Further instruction sets: a name and flags. A file with kernels is compiled as it stands, and once more for each.
ifneq (,$(filter x86_64-% amd64-%,$(MACHINE)))
ISAS    ?= avx2 avx512
endif
avx2    := -mavx2 -mfma
avx512  := -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma -mprefer-vector-width=512

LIBRARY := $(wildcard core/*.c ops/*.c nn/*.c optim/*.c)
KERNELS := $(shell grep -l '^ *KERNEL[^A-Z_]' $(LIBRARY) /dev/null)
OBJECTS := $(LIBRARY:%.c=$(DIR)/%.o) $(foreach isa,$(ISAS),$(KERNELS:%.c=$(DIR)/%.$(isa).o))
KIT     := $(patsubst %.c,$(DIR)/%.o,$(wildcard examples/kit/*.c))
NAME    := gradus$(if $(filter double,$(REAL)),_double)
STATIC  := $(DIR)/lib$(NAME).a
SHARED  := $(DIR)/lib$(NAME).so.$(VERSION)
EXAMPLES := $(patsubst %.c,%,$(wildcard examples/*.c))
TESTS    := $(patsubst %.c,$(DIR)/%,$(wildcard tests/test_*.c))
BENCHES  := $(patsubst %.c,$(DIR)/%,$(wildcard tests/bench/*.c))
CAMPAIGNS := $(patsubst tests/campaign/%.c,%,$(wildcard tests/campaign/*.c))

all: $(STATIC) $(SHARED) $(EXAMPLES:%=$(DIR)/%)
	@for e in $(EXAMPLES); do cmp -s $(DIR)/$$e $$e || cp $(DIR)/$$e $$e || exit; done

define isa_rule
$(DIR)/%.$(1).o: %.c $(DIR)/flags ; @mkdir -p $$(@D) && $$(CC) $$(BUILD) $($(1)) -DGR_ISA=$(1) -MMD -MP -c $$< -o $$@
endef
$(foreach isa,$(ISAS),$(eval $(call isa_rule,$(isa))))
$(DIR)/%.o: %.c $(DIR)/flags ; @mkdir -p $(@D) && $(CC) $(BUILD) -MMD -MP -c $< -o $@
$(DIR)/flags: FORCE ; @mkdir -p $(@D) && echo '$(CC) $(BUILD) $(LDFLAGS)' | cmp -s - $@ || echo '$(CC) $(BUILD) $(LDFLAGS)' > $@
$(STATIC): $(OBJECTS) ; @rm -f $@ && $(AR) rcs $@ $^
$(SHARED): $(OBJECTS) ; @$(LINK) -shared -Wl,-soname,lib$(NAME).so.$(basename $(VERSION)) $^ -o $@ $(LIBS)
$(DIR)/libkit.a: $(KIT) ; @rm -f $@ && $(AR) rcs $@ $^
$(DIR)/tests/test_%: $(DIR)/tests/test_%.o $(DIR)/libkit.a $(STATIC) ; @$(LINK) $^ -o $@ $(CMOCKA) $(LIBS)
$(DIR)/%: $(DIR)/%.o $(DIR)/libkit.a $(STATIC) ; @$(LINK) $^ -o $@ $(LIBS)

# Testing: both precisions, whatever REAL says.
tests: $(TESTS)
test: ; @tests/tools/have_cmocka.sh '$(CC)' '$(CMOCKA)' && $(MAKE) --no-print-directory REAL=float tests && \
	$(MAKE) --no-print-directory REAL=double tests && tests/tools/run_tests.sh $(B)/$(CONFIG)
bench: $(BENCHES) ; @for b in $^; do $$b $(ARGS) || exit; done
$(CAMPAIGNS): %: $(DIR)/tests/campaign/% ; @$< $(ARGS)

clean: ; rm -rf $(B) $(EXAMPLES) compile_commands.json
help: ; @sed -n 's/^#: \{0,1\}//p' Makefile

#: make                  the library, and every example beside its source: examples/NAME
#: make test             all tests, in float and in double          (sh tests/tools/get_cmocka.sh installs cmocka)
#: make bench            the benchmarks            ARGS= for their arguments
#: make NAME             build and run tests/campaign/NAME.c, a test that takes minutes
#: make clean
#:
#: CC CFLAGS LDFLAGS AR PREFIX DESTDIR as everywhere, and
#: REAL=double           gr_real is double         SAN=address,undefined | thread
#: BLAS=openblas         matrix products by it     ISAS=       the baseline instruction set only
#: WERROR=1              warnings are errors       B=DIR       for build/

.PHONY: all tests test bench clean help FORCE $(CAMPAIGNS)
.SECONDARY:
-include $(shell find $(DIR) -name '*.d' 2>/dev/null)
