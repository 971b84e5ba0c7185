#!/bin/sh
# lesson.sh COMMAND [N]: the learner's commands, which `make COMMAND N=10` runs.
#   lesson N   build and run the program of lesson N, then grade its exercise      grade N   grade the exercise      quiz N   print the quiz's answers
#   progress   the grader's verdict on each exercise
#   check-lessons [N]   everything that lesson N, or each lesson, promises: see check_lessons.sh
# E names another file than the lesson's exercise.c, CC the compiler, and WORK the folder for what is built. GRADUS names a tree of gradus; without
# it, gradus is the tree that holds this folder, or else the installed one (pkg-config gradus-double).
command=$1 n=$2 name=
here=$(dirname "$0")
fail() { printf '%s\n' "$*" >&2; exit 2; }
lessons() { for folder in "$here"/[0-9][0-9]_*/; do basename "$folder"; done; }

# ---- Which lesson ----

case $n in
*[!0-9]*) fail "N is the number of a lesson, such as N=10; got '$n'" ;;
'') case $command in progress | check-lessons) ;; *) fail "make $command needs the number of a lesson, such as N=10. The lessons are" $(lessons) ;; esac ;;
*)
    while [ "$n" != "${n#0}" ]; do n=${n#0}; done # printf takes 08 for an octal number
    name=$(lessons | grep "^$(printf %02d "${n:-0}")_") || fail "there is no lesson $2. The lessons are" $(lessons) ;;
esac

# ---- gradus, in double ----

[ -n "${GRADUS:-}" ] || [ ! -f "$here/../../gradus.h" ] || GRADUS=$here/../..
if [ -n "${GRADUS:-}" ]; then
    [ -f "$GRADUS/gradus.h" ] || fail "GRADUS must name a tree of gradus, and $GRADUS holds no gradus.h"
    library=$(${MAKE:-make} -s --no-print-directory -C "$GRADUS" lesson-library) || fail "gradus cannot be built in $GRADUS"
    case $library in /*) ;; *) library=$GRADUS/$library ;; esac
    with_gradus() { set -- "$@" -DGR_REAL_DOUBLE -I"$GRADUS" "$library"; build "$@" -lm -pthread; }
else
    flags=$(pkg-config --cflags --libs gradus-double) ||
        fail "gradus is not installed where pkg-config looks: set PKG_CONFIG_PATH, or name a tree of gradus: GRADUS=path"
    folder=$(pkg-config --variable=prefix gradus-double)/lib library=$folder/libgradus_double.a
    flags="$flags -Wl,-rpath,'$folder'"
    with_gradus() { eval 'set -- "$@"' "$flags"; build "$@" -lm -pthread; }
fi

# Run the command, which makes $program, unless the same command made it and nothing that it reads is newer. Print its warnings either way.
build() {
    changed=
    for file in "$@" "$library" "$here/grader.h"; do [ ! "$file" -nt "$program" ] || changed=1; done
    [ -z "$changed" ] && [ -x "$program" ] && [ "$*" = "$(cat "$program.command" 2> /dev/null)" ] || {
        rm -f "$program" "$program.command"
        "$@" 2> "$program.warnings" && printf '%s\n' "$*" > "$program.command"
    }
    set -- $?
    cat "$program.warnings" >&2
    return "$1"
}
compile() { # compile PROGRAM SOURCE..
    program=$1
    with_gradus ${CC:-cc} -std=c11 -D_GNU_SOURCE -g -O1 -Wall -Wextra -Wno-missing-field-initializers -o "$@"
}

# ---- The commands ----

if [ "$command" = check-lessons ]; then
    [ -n "${GRADUS:-}" ] || fail "make check-lessons needs a tree of gradus, because the texts refer to its files: GRADUS=path"
    export GRADUS library
    exec sh "$here/check_lessons.sh" "${WORK:-build}" ${name:-$(lessons)}
fi

choose() { # choose NAME: set what the other functions need
    name=$1 lesson=$here/$1 work=${WORK:-build}/$1
    exercise=${E:-$lesson/exercise.c}
    [ -f "$exercise" ] || fail "there is no $exercise"
    mkdir -p "$work" || exit 2
}
program() { # program ARGUMENTS
    compile "$work/lesson" "$lesson/lesson.c" && "$work/lesson" "$@"
}
grader() { compile "$work/grade" "$exercise" "$lesson/grade.c" "$here/grader.c"; }
grade() {
    grader && "$work/grade" && printf '\nThe quiz of this lesson is in its README.md; make quiz N=%s prints the answers.\n' "$n" && return
    printf '\nChange %s, then: make grade N=%s%s\n' "$exercise" "$n" "${E:+ E=$E}"
    return 1
}
progress() { # the first thing to do in each exercise
    for name in $(lessons); do
        choose "$name"
        if ! grader 2> /dev/null; then said='does not compile'
        elif "$work/grade" > "$work/said" 2>&1; then said=passes
        else said=$(sed -n 's/^\([a-z_0-9]*\): .*/\1/p' "$work/said" | paste -sd' ' -); fi
        printf '%-24s %s\n' "$name" "$said"
    done
}

[ -z "$name" ] || choose "$name"
case $command in
lesson) program && echo && { grade || :; } ;; # the program has run, and the grader has said what is next
grade) grade ;;
quiz) program --quiz ;;
progress) progress ;;
*) fail "lesson.sh knows lesson, grade, quiz, progress and check-lessons; got '$command'" ;;
esac
