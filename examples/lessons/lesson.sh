#!/bin/sh
# lesson.sh COMMAND [N]: the learner's commands, which `make COMMAND N=10` runs.
#   lesson N   build and run the program of lesson N, then grade its exercise      grade N   grade the exercise      quiz N   print the quiz's answers
#   check-lessons [N]   everything that lesson N, or each lesson, promises: see check_lessons.sh
# E names another file than the lesson's exercise.c, CC the compiler, and WORK the folder for what is built. GRADUS names a tree of gradus; without
# it, gradus is the tree that holds this folder, or else the installed one (pkg-config gradus-double).
command=$1 n=$2
here=$(dirname "$0")
fail() { printf '%s\n' "$*" >&2; exit 2; }
lessons() { for folder in "$here"/[0-9][0-9]_*/; do basename "$folder"; done; }

# ---- Which lesson ----

case $n in
'') [ "$command" = check-lessons ] || fail "make $command needs the number of a lesson, such as make $command N=10. The lessons are" $(lessons) ;;
*[!0-9]*) fail "N is the number of a lesson, such as N=10; got '$n'" ;;
esac
while [ "$n" != "${n#0}" ]; do n=${n#0}; done # 08 is no number for printf
if [ -n "$2" ]; then
    name=$(lessons | grep "^$(printf %02d "${n:-0}")_") || fail "there is no lesson $2. The lessons are" $(lessons)
    lesson=$here/$name
fi

# ---- gradus, in double ----

[ -n "${GRADUS:-}" ] || [ ! -f "$here/../../gradus.h" ] || GRADUS=$here/../..
if [ -n "${GRADUS:-}" ]; then
    [ -f "$GRADUS/gradus.h" ] || fail "GRADUS must name a tree of gradus, and $GRADUS holds no gradus.h"
    library=$(${MAKE:-make} -s --no-print-directory -C "$GRADUS" lesson-library) || fail "gradus cannot be built in $GRADUS"
    case $library in /*) ;; *) library=$GRADUS/$library ;; esac
    with_gradus() { set -- "$@" -DGR_REAL_DOUBLE -I"$GRADUS" "$library"; "$@" -lm -pthread; }
else
    flags=$(pkg-config --cflags --libs gradus-double) ||
        fail "gradus is not installed where pkg-config looks: set PKG_CONFIG_PATH, or name a tree of gradus: GRADUS=path"
    flags="$flags -Wl,-rpath,'$(pkg-config --variable=prefix gradus-double)/lib'"
    with_gradus() { eval 'set -- "$@"' "$flags"; "$@" -lm -pthread; }
fi
compile() { with_gradus ${CC:-cc} -std=c11 -D_GNU_SOURCE -g -O1 -Wall -Wextra "$@"; }

# ---- The commands ----

if [ "$command" = check-lessons ]; then
    [ -n "${GRADUS:-}" ] || fail "make check-lessons needs a tree of gradus, because the texts refer to its files: GRADUS=path"
    export GRADUS library
    exec sh "$here/check_lessons.sh" "${WORK:-build}" ${name:-$(lessons)}
fi
work=${WORK:-build}/$name
mkdir -p "$work" || exit 2

run() { # run ARGUMENTS: the program
    compile "$lesson/lesson.c" -o "$work/lesson" && "$work/lesson" "$@"
}
grade() {
    exercise=${E:-$lesson/exercise.c}
    [ -f "$exercise" ] || fail "there is no $exercise"
    compile "$exercise" "$lesson/grade.c" "$here/grader.c" -o "$work/grade" && "$work/grade" && return
    printf '\nChange %s, then: make grade N=%s%s\n' "$exercise" "$2" "${E:+ E=$E}"
    return 1
}
case $command in
lesson) run && echo && grade "$@" ;;
grade) grade "$@" ;;
quiz) run --quiz ;;
*) fail "lesson.sh knows lesson, grade, quiz and check-lessons; got '$command'" ;;
esac
