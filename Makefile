# gradus: `make help` lists the targets and variables. Needs GNU make, sh, awk and a C compiler; the tests need cmocka.
REAL    ?= float
B       ?= build
PREFIX  ?= /usr/local
PYTHON  ?= python3
MPICC   ?= mpicc
CROSS   ?= aarch64-linux-gnu-
CFLAGS  ?= $(if $(SAN),-g,-g1)# -g1 knows functions and lines, and compiles in 4/5 of the time that -g takes; a debugger wants -g for variables
comma   := ,
open    := (
brace   := {
$(if $(filter float double,$(REAL)),,$(error REAL is float or double))
$(if $(filter 1,$(words $(B))),,$(error B must name one folder, without spaces; got '$(B)'))
CONFIG  := $(notdir $(lastword $(CC)))$(if $(SAN),-$(subst $(comma),-,$(SAN)))$(if $(BLAS),-$(BLAS))
DIR     := $(B)/$(CONFIG)/$(REAL)
VERSION := $(shell awk '/define GR_VERSION_TEXT/ { gsub(/"/, "", $$3); print $$3 }' core/tape.h)
CLANG   := $(findstring clang,$(shell $(CC) --version 2>/dev/null))
MACHINE := $(shell $(CC) -dumpmachine 2>/dev/null)
WINDOWS := $(findstring mingw,$(MACHINE))
MACOS   := $(findstring darwin,$(MACHINE))
EXE     := $(if $(WINDOWS),.exe)
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
endif

# BITS: without contraction the bits stay; the others change no result and let loops vectorise (as does -O3: an -O2 in CFLAGS becomes that).
# gcc's jump threading copies what follows two related ?: and computes both copies: 2 to 4 times the time for some kernels.
WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wno-missing-field-initializers \
           $(if $(CLANG),,-Wdouble-promotion) $(if $(WERROR),-Werror)
BITS    := -ffp-contract=off -fno-math-errno -fno-trapping-math $(if $(CLANG),,-ftree-vectorize -fvect-cost-model=dynamic -fno-thread-jumps)
MODE    := $(if $(SAN),-O1 -fno-omit-frame-pointer -fsanitize=$(SAN) -fno-sanitize-recover=all,-O3 -DNDEBUG)
# gcc for Windows aligns the stack to 16 bytes alone (its bug 54412), so the assembler must make moves of vectors that need no alignment.
POSIX    = $(if $(WINDOWS),-include $(if $(filter $(LIBRARY),$<),core,examples/kit)/windows.h -I$(DIR)/windows -Wa$(comma)-muse-unaligned-vector-move)
EMPTY   := sys/file.h sys/mman.h sys/wait.h sys/ioctl.h poll.h spawn.h# core/windows.h and examples/kit/windows.h have what they declare elsewhere
SECTIONS = $(if $(filter $(LIBRARY),$<),-ffunction-sections -fdata-sections)# -Wl,--gc-sections then leaves out of a static program what it does not call
COMPILE  = $(CC) -std=c11 -D_GNU_SOURCE -I. $(or $(POSIX),-fPIC) -pthread -fvisibility=hidden $(WARN) $(MODE) $(SECTIONS) $(if $(filter double,$(REAL)),-DGR_REAL_DOUBLE) \
           $(if $(ISAS),,-DGR_ONE_ISA) $(if $(BLAS),-DGR_OPENBLAS) $(CFLAGS:-O2=-O3) $(BITS)
LINK     = $(CC) $(CFLAGS) $(if $(WINDOWS),-static) $(if $(SAN),-fsanitize=$(SAN:fuzzer-no-link%=fuzzer%)) $(LDFLAGS)
CLAIM    = . tests/tools/scratch.sh && claim $(B)
LIBS    := $(if $(BLAS),-l$(BLAS)) -lm -pthread
CMOCKA  := $(shell pkg-config --cflags --libs cmocka 2>/dev/null || echo -lcmocka)

# Further instruction sets: a name and flags. A file with kernels is compiled as it stands, and once more for each.
ifneq (,$(filter x86_64-% amd64-%,$(MACHINE)))
ISAS    ?= avx2 avx512
endif
avx2    := -mavx2 -mfma
avx512  := -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma -mprefer-vector-width=512

FOLDERS := core core/io ops nn optim
LIBRARY := $(wildcard $(FOLDERS:%=%/*.c))
KERNELS := $(shell grep -l '^ *KERNEL[^A-Z_]' $(LIBRARY) /dev/null)
OBJECTS := $(LIBRARY:%.c=$(DIR)/%.o) $(foreach isa,$(ISAS),$(KERNELS:%.c=$(DIR)/%.$(isa).o))
objects  = $(patsubst %.c,$(DIR)/%.o,$1) $(foreach isa,$(ISAS),$(patsubst %.c,$(DIR)/%.$(isa).o,$(filter %_kernels.c,$1)))
PARTS   := dive plot norms steps kit composed# what examples share: each calls only those to its right
SHARING := $(PARTS:%=$(DIR)/lib%.a)
NAME    := gradus$(if $(filter double,$(REAL)),_double)
STATIC  := $(DIR)/lib$(NAME).a
SHARED  := $(DIR)/lib$(NAME)$(if $(WINDOWS),.dll,$(if $(MACOS),.$(VERSION).dylib,.so.$(VERSION)))
SONAME  := lib$(NAME).so.$(basename $(VERSION))
AS_SHARED := $(if $(WINDOWS),-shared -Wl$(comma)--out-implib$(comma)$(SHARED).a,$(if $(MACOS),-dynamiclib -install_name \
             @rpath/lib$(NAME).$(basename $(VERSION)).dylib,-shared -Wl$(comma)-soname$(comma)$(SONAME)$(if $(SAN),,$(comma)--no-undefined)))
WITH_MPI  := $(patsubst %.c,%,$(wildcard examples/mpi_*.c))
EXAMPLES  := $(filter-out $(WITH_MPI),$(patsubst %.c,%,$(wildcard examples/*.c)))
BROKEN    := $(patsubst examples/broken/answers/%.c,examples/broken/%,$(wildcard examples/broken/answers/*.c))
TESTS     := $(patsubst %.c,$(DIR)/%$(EXE),$(wildcard tests/test_*.c))
DIVE_TESTS := $(filter $(DIR)/tests/test_dive_% $(DIR)/tests/test_plot_% $(DIR)/tests/test_program_deep_dive,$(TESTS))
MAIN_TESTS := $(filter-out $(DIVE_TESTS),$(TESTS))
BENCH     := $(DIR)/tests/bench
CAMPAIGNS := $(patsubst tests/campaign/%.c,%,$(wildcard tests/campaign/*.c))
FUZZERS   := $(patsubst %.c,$(DIR)/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZKIT   := $(DIR)/tests/fuzz/memory_file.o $(if $(findstring fuzzer,$(SAN)),,$(DIR)/tests/fuzz/main.o)
TESTKIT   := $(filter-out tests/test_%.c,$(wildcard tests/*.c))

all: library $(EXAMPLES)
mpi: $(WITH_MPI)
broken: $(BROKEN)
$(EXAMPLES) $(WITH_MPI) $(BROKEN): %: $(DIR)/% FORCE ; @cmp -s $< $@ || cp $< $@
library: $(STATIC) $(SHARED)

define isa_rule
$(DIR)/%.$(1).o: %.c $(DIR)/flags ; @mkdir -p $$(@D) && $$(COMPILE) $($(1)) $$(TUNE) -DGR_ISA=$(1) -MMD -MP -c $$< -o $$@
endef
$(foreach isa,$(ISAS),$(eval $(call isa_rule,$(isa))))
$(DIR)/%.o: %.c $(DIR)/flags ; @mkdir -p $(@D) && $(COMPILE) -MMD -MP -c $< -o $@
# The code for no instruction set of its own compiles in three quarters of the time and was measured as fast, within 1 %, with -O2.
$(if $(ISAS),$(LIBRARY:%.c=$(DIR)/%.o)): private MODE := $(MODE:-O3=-O2)
# Flags for the files that were measured to be faster with them. Two vectors of a long formula are computed in turns, because each step waits for the
# one before it; and a pool takes vectors of 32 bytes, because gcc needs fewer shuffles to take every other value of them.
TWO     := $(if $(CLANG),,-mtune=icelake-server -fschedule-insns -funroll-loops --param max-unroll-times=2 --param max-unrolled-insns=2000 \
           --param max-average-unrolled-insns=2000)
$(DIR)/ops/unary.avx512.o $(DIR)/ops/layer_norm.avx512.o: private TUNE := $(TWO)
$(DIR)/ops/pool.avx512.o: private TUNE := -mprefer-vector-width=256
$(DIR)/flags: FORCE ; @$(CLAIM) && mkdir -p $(@D) $(if $(WINDOWS),$(DIR)/windows/sys && cd $(DIR)/windows && for h in $(EMPTY); do [ -f $$h ] || : > $$h; done && cd - > /dev/null) && echo '$(COMPILE) $(LDFLAGS), sections' | cmp -s - $@ || echo '$(COMPILE) $(LDFLAGS), sections' > $@
$(STATIC): $(OBJECTS) ; @rm -f $@ && $(AR) rcs $@ $^ && echo "  $@"
$(SHARED): $(OBJECTS) ; @$(LINK) $(AS_SHARED) $^ -o $@ $(LIBS) && echo "  $@"
# Texts of the page: an array of the lines of each file, which the header declares.
LINES   := $(DIR)/examples/plot/style.c $(DIR)/examples/dive/twelve_lines.c
$(DIR)/examples/plot/style.c: examples/plot/draw.h examples/plot/figure.css examples/plot/page.css examples/plot/table.js examples/plot/page.js
$(DIR)/examples/dive/twelve_lines.c: examples/dive/twelve.h $(wildcard examples/dive/twelve*.html examples/dive/twelve*.css examples/dive/twelve*.js)
$(LINES): | $(DIR)/flags
	@mkdir -p $(@D) && { echo '#include "$(filter %.h,$^)"' && for f in $(filter-out %.h,$^); do \
	echo "const char *const $(notdir $(patsubst %/,%,$(@D)))_$$(basename $$f | tr . _)[] = {" && sed 's/[\\"]/\\&/g; s/.*/"&\\n",/' $$f && echo 'NULL };'; done; } > $@
$(LINES:.c=.o): %.o: %.c $(DIR)/flags ; @$(COMPILE) -MMD -MP -c $< -o $@
$(DIR)/libdive.a: $(DIR)/examples/dive/twelve_lines.o
$(DIR)/libplot.a: $(DIR)/examples/plot/style.o
$(SHARING): $(DIR)/lib%.a: ; @rm -f $@ && $(AR) rcs $@ $^
$(foreach part,$(PARTS),$(eval $(DIR)/lib$(part).a: $(call objects,$(wildcard examples/$(part)/*.c))))
$(DIR)/libtests.a: $(call objects,$(TESTKIT)) ; @rm -f $@ && $(AR) rcs $@ $^
$(DIR)/tests/%.o: private override CFLAGS += $(filter -I%,$(CMOCKA))
$(DIR)/examples/%.o $(DIR)/tests/test_%.o: private MODE := $(MODE:-O3=-O1)# half the time to compile; they spend theirs in the library
$(DIR)/tests/maths_reference.o: private override CFLAGS += $(if $(ISAS),-march=native -ffast-math $(if $(CLANG),$(if $(MACOS),,-fveclib=libmvec)))
$(DIR)/tests/campaign/ulp.o: private override CFLAGS += $(if $(ISAS),-march=native)
$(DIR)/tests/campaign/misuse_calls.h: tests/campaign/misuse.c tests/campaign/misuse.awk $(wildcard gradus.h $(FOLDERS:%=%/*.h) ops/*.def) $(DIR)/flags
	@mkdir -p $(@D) && echo '#include "gradus.h"' | $(COMPILE) -E -P -x c - | awk -f tests/campaign/misuse.awk $< - > $@
$(DIR)/tests/campaign/misuse.o: $(DIR)/tests/campaign/misuse_calls.h
$(DIR)/tests/campaign/misuse.o: private override CFLAGS += -I$(DIR)/tests/campaign
$(DIR)/tests/test_%$(EXE): $(DIR)/tests/test_%.o $(SHARING) $(DIR)/libtests.a $(STATIC) ; @$(LINK) $^ -o $@ $(CMOCKA) $(LIBS)
$(DIR)/tests/campaign/allocations $(DIR)/tests/campaign/long_run: private LIBS := $(CMOCKA) $(LIBS)
$(DIR)/tests/campaign/%: $(DIR)/tests/campaign/%.o $(DIR)/libkit.a $(DIR)/libtests.a $(STATIC) ; @$(LINK) $^ -o $@ $(LIBS)
$(DIR)/libbench.a: $(call objects,$(filter-out tests/bench/main.c,$(wildcard tests/bench/*.c))) ; @rm -f $@ && $(AR) rcs $@ $^
$(BENCH)/bench: $(BENCH)/main.o $(DIR)/libbench.a $(DIR)/libkit.a $(STATIC) ; @$(LINK) $^ -o $@ $(LIBS)
$(BENCH)/libbench.so: $(call objects,$(filter-out tests/bench/main.c,$(wildcard tests/bench/*.c))) $(STATIC) ; @$(LINK) -shared $^ -o $@ $(LIBS)
$(DIR)/tests/fuzz/%: $(DIR)/tests/fuzz/%.o $(FUZZKIT) $(SHARING) $(STATIC) ; @$(LINK) $^ -o $@ $(LIBS)
$(DIR)/tests/test_bench: $(DIR)/tests/test_bench.o $(DIR)/libbench.a $(SHARING) $(DIR)/libtests.a $(STATIC) | $(BENCH)/bench ; @$(LINK) $^ -o $@ $(CMOCKA) $(LIBS)
$(DIR)/tests/test_main_job $(DIR)/tests/test_main_report $(DIR)/tests/test_kit_streams: | $(DIR)/examples/seq_mnist_lstm
$(DIR)/tests/test_program_broken: | $(BROKEN:%=$(DIR)/%)
$(filter-out %_broken,$(filter $(DIR)/tests/test_program_%,$(TESTS))): $(DIR)/tests/test_program_%: | $(DIR)/examples/%
$(filter $(DIR)/tests/test_dive_siblings,$(TESTS)): | $(patsubst %,$(DIR)/examples/%,mlp_norms cnn_norms seq_mnist_lstm transformer_norms)
$(WITH_MPI:%=$(DIR)/%) $(WITH_MPI:%=$(DIR)/%.o) $(DIR)/examples/mpi/ranks.o: private override CC := $(MPICC)
$(WITH_MPI:%=$(DIR)/%): $(DIR)/%: $(DIR)/%.o $(DIR)/examples/mpi/ranks.o $(DIR)/libkit.a $(STATIC) ; @$(LINK) $^ -o $@ $(LIBS)
# A program of examples/broken is linked with answers/NAME.c, which is the program without its fault. No edit of the program changes that file.
$(BROKEN:%=$(DIR)/%$(EXE)): $(DIR)/examples/broken/%$(EXE): $(DIR)/examples/broken/%.o $(DIR)/examples/broken/answers/%.o \
    $(DIR)/examples/broken/frame.o $(DIR)/libkit.a $(STATIC) ; @$(LINK) $^ -o $@ $(LIBS)
$(DIR)/%$(EXE): $(DIR)/%.o $(SHARING) $(STATIC) ; @$(LINK) $^ -o $@ $(LIBS)

# Tests: both precisions, whatever REAL says. Campaigns take minutes; each is a target of its own.
BOTH    := $(MAKE) --no-print-directory
tests: $(TESTS)
main-tests: $(MAIN_TESTS)
dive-tests: $(DIVE_TESTS)
REALS  ?= float double
build_both = tests/tools/have_cmocka.sh '$(CC)' '$(CMOCKA)'$(foreach real,$(REALS), && $(BOTH) REAL=$(real) $1)
test: ; +@$(call build_both,main-tests) && tests/tools/run_tests.sh --gradients $(B)/$(CONFIG) $(notdir $(MAIN_TESTS))
test-dive: ; +@$(call build_both,dive-tests) && tests/tools/run_tests.sh $(B)/$(CONFIG) $(notdir $(DIVE_TESTS))
bench: $(BENCH)/bench ; @$< $(ARGS)
bench-peers: $(BENCH)/bench $(BENCH)/libbench.so ; @$(PYTHON) tests/bench/peers --folder $(BENCH) $(ARGS)
test-peers: $(BENCH)/bench $(BENCH)/libbench.so ; @$(PYTHON) tests/bench/test_peers.py $(BENCH) $(ARGS)
interchange: all $(DIR)/tests/interchange/logits $(DIR)/tests/interchange/decoder
	@$(PYTHON) tests/interchange/names.py && $(PYTHON) tests/interchange/check.py $(DIR)/tests/interchange/logits \
	    $(DIR)/examples/seq_mnist_lstm $(DIR)/tests/interchange/decoder
DIVE    := $(if $(wildcard examples/deep_dive.c),$(DIR)/examples/deep_dive)
TWELVE  := $(B)/$(CONFIG)/double/tests/report/twelve_values# the page computes in double
test-report: $(if $(REPORT),,$(DIR)/tests/report/demo $(DIR)/examples/backward_steps $(DIVE))
	+@$(BOTH) REAL=double $(TWELVE)
	@PYTHON='$(PYTHON)' ARGS='$(ARGS)' B='$(B)' tests/report/run.sh '$(DIR)/tests/report/demo' '$(DIVE)' '$(DIR)/examples/backward_steps' '$(TWELVE)' '$(REPORT)'
$(CAMPAIGNS): %: $(DIR)/tests/campaign/% ; @$< $(ARGS)
fuzz: $(FUZZERS) ; @bad=0; for f in $^; do $$f $(ARGS) || bad=1; done; exit $$bad
libfuzzer: ; +@tests/tools/libfuzzer.sh '$(CC)' '$(BOTH)' '$(B)' '$(or $(SECONDS),60)'
fuzzers: $(FUZZERS)
msan: ; +@tests/tools/msan.sh '$(CC)' '$(BOTH)'

# Gates: what is true of the sources and of the objects.
CHECKS  := check-layers check-circles check-symbols check-vector check-host-loops check-names check-api check-headers check-lines check-readme check-fetch \
           check-remove check-maths
check: $(CHECKS) ; @echo "$(words $(CHECKS)) checks passed"
both: ; +@$(BOTH) REAL=float library && $(BOTH) REAL=double library
check-layers: both ; @tests/tools/check_layers.sh $(B)/$(CONFIG)/float
check-circles: both ; @tests/tools/check_circles.sh '$(CC)' $(B)/$(CONFIG)/float $(LIBRARY)
check-symbols: both ; @tests/tools/check_symbols.sh $(B)/$(CONFIG)/float && tests/tools/check_symbols.sh $(B)/$(CONFIG)/double
check-vector: both ; @tests/tools/check_vector.sh $(B)/$(CONFIG)/float
check-host-loops: ; @CC="$(CC)" tests/tools/check_host_loops.sh tests/tools/host_loops.txt
check-names: one ; @$(CC) -std=c11 -Wall -Wextra -Werror -fsyntax-only $(B)/one/gradus.c && \
	$(CC) -std=c11 -Wall -Wextra -Werror -fsyntax-only -DGR_REAL_DOUBLE $(B)/one/gradus.c
check-api: both ; +@$(BOTH) -s REAL=float $(EXAMPLES:%=$(B)/$(CONFIG)/float/%.o) $(PARTS:%=$(B)/$(CONFIG)/float/lib%.a) && \
	tests/tools/api.sh --check '$(CC)' $(B)/$(CONFIG)/float && tests/tools/reference.sh '$(CC)' $(B)/$(CONFIG)/float $(B)/api > $(B)/api.log
check-maths: both ; @tests/tools/check_maths.sh $(B)/$(CONFIG)/float
check-headers: ; @tests/tools/check_headers.sh '$(CC)'
check-lines: ; @tests/tools/check_lines.sh
check-readme: both ; @tests/tools/check_readme.sh '$(CC)' $(B)/$(CONFIG)/float
check-mpi: ; +@tests/tools/check_mpi.sh '$(MPICC)' '$(BOTH)'
check-fetch: ; @tests/tools/check_fetch.sh
check-remove: ; @tests/tools/check_remove.sh '$(MAKE)'
check-awk: check-api ; @tests/tools/check_awk.sh '$(CC)' $(B)/$(CONFIG)/float
check-install: ; @tests/tools/check_install.sh '$(CC)' '$(MAKE)'
check-one: one ; +@$(BOTH) REAL=float tests $(B)/$(CONFIG)/float/tests/bits/fingerprint $(B)/$(CONFIG)/float/examples/seq_mnist_lstm && \
	$(BOTH) REAL=double tests && \
	tests/tools/check_one.sh "$(CC)" $(B)/$(CONFIG) $(B)/one
check-bits: all $(DIR)/tests/bits/fingerprint ; @tests/tools/check_bits.sh $(DIR)
neon: ; +@$(BOTH) CC=$(CROSS)gcc AR=$(CROSS)ar LDFLAGS=-static REAL=float $(B)/$(CROSS)gcc/float/tests/bits/fingerprint \
	$(EXAMPLES:%=$(B)/$(CROSS)gcc/float/%) && tests/tools/check_bits.sh $(B)/$(CROSS)gcc/float qemu-aarch64
windows: ; +@tests/tools/windows.sh '$(MAKE)' '$(B)'
compilers: ; +@tests/tools/compilers.sh '$(MAKE)' '$(B)'
one: ; @$(CLAIM) && mkdir -p $(B)/one && awk -v out=$(B)/one -f tests/tools/amalgamate.awk $(wildcard $(FOLDERS:%=%/*.h)) $(LIBRARY) && \
	echo "  $(B)/one/gradus.c and gradus.h"

# Installing: both precisions. #include <gradus.h> with the flags of pkg-config gradus or gradus-double. PREFIX and DESTDIR are taken as they
# stand, a $ and a quote included, unless they name another variable; they reach install.sh by the environment.
HEADERS  = $(sort $(filter %.h %.def,$(shell $(CC) -MM -I. -x c gradus.h)))
as_said  = $(if $(findstring $$$(open),$(value $1))$(findstring $$$(brace),$(value $1)),$($1),$(value $1))
override PREFIX  := $(call as_said,PREFIX)
override DESTDIR := $(call as_said,DESTDIR)
export PREFIX DESTDIR
KIT     := $(filter-out examples/kit/output.% examples/kit/windows.h,$(wildcard examples/kit/*.[ch]))
install: both ; @tests/tools/install.sh $(B)/$(CONFIG) $(VERSION) '$(LIBS)' $(HEADERS) $(KIT)
uninstall: ; @tests/tools/install.sh --remove

# The course. Lessons compute in double; their library has one instruction set, so that a fresh clone has it in ten seconds.
LESSON_LIBRARY := $(B)/lessons/$(CONFIG)/double/libgradus_double.a
lesson grade quiz progress check-lessons: ; +@GRADUS=. WORK='$(B)/lessons' E='$(E)' CC='$(CC)' MAKE='$(MAKE)' examples/lessons/lesson.sh $@ '$(N)'
lesson-library: ; +@$(CLAIM) && { [ -f $(LESSON_LIBRARY) ] || echo 'building gradus in double for the lessons' >&2; } && $(BOTH) REAL=double ISAS= B='$(B)/lessons' $(LESSON_LIBRARY) >&2 && echo $(LESSON_LIBRARY)

# For those who work on it.
SOURCES := $(LIBRARY) $(wildcard examples/*.c examples/*/*.c examples/broken/answers/*.c tests/*.c tests/*/*.c)
F       ?= $(shell git diff --name-only HEAD -- '*.c')
format: ; @for f in $(F); do clang-format -i $$f && echo "  $$f"; done
lint: ; cppcheck --quiet --enable=warning,performance,portability --inline-suppr --error-exitcode=1 -I. \
	$(LIBRARY) $(wildcard examples/*.c examples/*/*.c)
loc: ; @tests/tools/loc.sh
api: all ; @tests/tools/api.sh '$(CC)' $(DIR) && tests/tools/reference.sh '$(CC)' $(DIR) $(B)/api
compile_commands.json: FORCE
	@{ echo '['; for f in $(SOURCES); do echo "{\"directory\": \"$(CURDIR)\", \"file\": \"$$f\", \"command\": \"$(COMPILE) -c $$f\"},"; done | \
	sed '$$s/,$$//'; echo ']'; } > $@
clean: ; @rm -f $(EXAMPLES) $(WITH_MPI) $(BROKEN) compile_commands.json && . tests/tools/scratch.sh && remove_claimed $(B)
where: ; @echo $(DIR)
help: ; @sed -n 's/^#: \{0,1\}//p' Makefile

#: make                  the library, and every example beside its source: examples/NAME
#: make library          only the library; make both: in float and in double                make where     prints the build folder, DIR
#: make DIR/tests/test_NAME      builds one test: then run it       make tests     builds all of them
#: make test             the tests, in float and in double          (sh tests/tools/get_cmocka.sh installs cmocka)
#: make test-dive        those of the deep dive and of the plotting library          make main-tests dive-tests   builds them, for one REAL
#: make check            the gates on sources and objects, one for each of: layers circles symbols vector names api headers lines readme fetch
#:                       remove maths; make check-NAME runs one of them, and tests/README.md says what each refuses
#: make check-install    programs outside the tree against an installed copy         make check-one     the one-file build
#: make broken           examples/broken: twelve programs, each with a fault to find
#: make mpi              examples/mpi_mnist                         MPICC=mpicc names MPI's compiler
#: make check-mpi        the same fingerprint for all numbers of MPI ranks; what goes wrong on one of them
#: make check-awk        the scripts print the same with gawk, mawk and busybox awk
#: make windows          library, programs and tests by MinGW-w64, run with wine     make compilers    fingerprints of every gcc and clang here, and musl
#: make check-bits       one fingerprint for all threads and instruction sets            make neon   and for ARM64, under qemu-aarch64
#: make bench            the times of gradus, and how much of the machine's limits they reach     ARGS=--help; GRADUS_ISA=avx2 in front holds it to AVX2
#: make bench-peers      beside PyTorch, OpenBLAS and JAX, in turns in one process      PYTHON= one that has them, ARGS=--help
#: make test-peers       bench-peers finds wrong results, and its messages      PYTHON= one that has torch
#: make interchange      weights to PyTorch and back; pytorch_names.txt    PYTHON= one that has torch and safetensors
#: make test-report      a report in a browser, headless Chromium   PYTHON= one that has plotly and playwright, REPORT= its folder, ARGS=--short
#: make NAME             build and run tests/campaign/NAME.c, a test that takes minutes
#:                       allocations api_sequences flips kills long_run misuse ulp       ARGS= for their arguments
#: make fuzz             mutated files into the readers: use SAN=address,undefined       make libfuzzer CC=clang SECONDS=60
#:                       make fuzzers   builds them
#: make msan CC=clang    the library's tests under MemorySanitizer
#: make lesson N=01      a lesson of the course (examples/lessons): its program, then what the grader says of your exercise     make grade N=01   the
#:                       grader alone, E=FILE for another file than exercise.c     make quiz N=01   its answers     make progress   all verdicts
#:                       make check-lessons   that stubs fail, solutions pass, and wrong answers get the message that names their mistake
#: make one              build/one/gradus.c and gradus.h: the library in one file, all instruction sets in it
#: make install          to DESTDIR, PREFIX: headers, static and shared library in both precisions, pkg-config, CMake's find_package, examples/kit
#: make uninstall        what install listed in PREFIX/share/gradus/installed, and nothing else
#: make api              every public function with its name in PyTorch and the programs that use it; last those that have neither;
#:                       build/api gets all of them from A to Z as text, as a page and as manual pages (man -l build/api/man3/gr_lstm_new.3)
#: make format lint loc clean compile_commands.json                 F= names the files to format (else: those changed)
#:
#: CC CFLAGS LDFLAGS AR  as everywhere, and
#: REAL=double           gr_real is double         SAN=address,undefined | thread         REALS=float  tests in float alone
#: BLAS=openblas         matrix products by it     ISAS=       the baseline instruction set only
#: WERROR=1              warnings are errors       B=DIR       for build/; make clean removes it if make made it

.PHONY: check-awk windows compilers all mpi broken check-mpi library tests main-tests dive-tests test test-dive fuzz fuzzers libfuzzer msan bench bench-peers test-peers interchange test-report check both check-bits neon \
	check-one check-install one lesson grade quiz progress check-lessons lesson-library install uninstall format lint loc api clean where help FORCE $(CHECKS) $(CAMPAIGNS)
.SECONDARY:
-include $(shell find $(DIR) -name '*.d' 2>/dev/null)
