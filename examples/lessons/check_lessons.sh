#!/bin/sh
# check_lessons.sh WORK LESSON...: everything that a lesson promises. lesson.sh calls it, with the tree in GRADUS and its library in `library`.
#   The program's output is expected.txt, its quiz answers are answers.txt, and it needs less than 10 seconds.
#   The stub compiles without a warning and fails with not_begun. The solution differs from it in the lines to be written only, and passes.
#   No two known mistakes give the same numbers. wrong/ID.sed (an edit of solution.c) and wrong/ID.c get the diagnosis ID and no other;
#   ID.2.sed is another file for ID, and ID+OTHER.sed makes two mistakes. Every diagnosis of grade.c has such a file.
#   README.md has its parts in order. Each number of its text and each line of its text blocks is printed by the program; each file that it names
#   exists, and where it says FILE:LINE, that line holds the next name in backticks.
#   The code uses only functions of gradus that functions.txt introduces in this lesson or in an earlier one.
# With all lessons, every diagnosis of grader.c has been seen, and every name of functions.txt is used.
here=$(dirname "$0") cores=$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)
warn='-Wall -Wextra -Wpedantic -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wno-missing-field-initializers -Werror'
compile() { ${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 -DGR_REAL_DOUBLE -I"$GRADUS" "$@"; }

# ---- One answer, in a process of its own: what the grader says of it ----

if [ "$1" = --answers ]; then
    shift
    for answer; do
        source=$lesson/$answer flags=-w
        program=$work/$(echo "$answer" | tr / .)
        case $answer in
        *.sed)
            source=$program.c
            sed -f "$lesson/$answer" "$lesson/solution.c" > "$source"
            ! cmp -s "$source" "$lesson/solution.c" || { echo "$answer changes_nothing"; continue; } ;;
        wrong/*) ;;
        *) flags=$warn ;;
        esac
        compile $flags "$source" "$work/grade.o" "$work/grader.o" "$library" -lm -pthread -o "$program" 2> "$program.log" ||
            { echo "$answer does_not_compile"; continue; }
        if GRADER_SECONDS=1 "$program" > "$program.log" 2>&1; then says=passes
        else says=$(sed -n 's/^\([a-z_0-9]*\): .*/\1/p' "$program.log" | sort | paste -sd+ -); fi
        echo "$answer ${says:-nothing}"
    done
    exit
fi

# ---- The parts of a lesson ----

fail() { echo "  $name: $*"; bad=$((bad + 1)); }

no_longer_than() { # no_longer_than LINES FILE
    [ "$(wc -l < "$lesson/$2")" -le "$1" ] || fail "$2 has more than $1 lines"
}

check_program() {
    compile $warn "$lesson/lesson.c" "$library" -lm -pthread -o "$work/lesson" || { fail 'lesson.c does not compile'; return; }
    (ulimit -t 10; "$work/lesson") > "$work/printed" || fail 'lesson.c fails, or needs more than 10 seconds'
    diff "$work/printed" "$lesson/expected.txt" > "$work/diff" || { fail 'the output is not expected.txt:'; cat "$work/diff"; }
    "$work/lesson" --quiz | diff - "$lesson/answers.txt" > "$work/diff" || { fail 'the quiz is not answers.txt:'; cat "$work/diff"; }
}

# The stub is the solution without its lines: what differs in the stub is a comment, or goes ("remove this line").
check_stub() {
    diff "$lesson/exercise.c" "$lesson/solution.c" | sed -n 's/^< //p' | grep -vE '^ *(/\*| \*|\*)|/\* remove this line[a-z ]* \*/$|^ *$' > "$work/lines" &&
        { fail 'solution.c lacks these lines of exercise.c:'; cat "$work/lines"; }
}

ids() { sed -n 's/.*grader_stop("\([a-z_0-9]*\)".*/\1/p; s/^ *M(\([a-z_0-9]*\),.*/\1/p' "$1" | sort -u; }

check_answers() {
    compile $warn -c "$lesson/grade.c" -o "$work/grade.o" && compile $warn -c "$here/grader.c" -o "$work/grader.o" ||
        { fail 'the grader does not compile'; return; }
    { echo exercise.c; echo solution.c; (cd "$lesson" && ls wrong/*); } |
        xargs -P "$cores" -n 3 sh "$here/check_lessons.sh" --answers | cat > "$work/diagnoses"
    wrong=0 named=
    while read -r answer says; do
        case $answer in
        exercise.c) id=not_begun ;;
        solution.c) id=passes ;;
        *) id=$(basename "$answer") && id=$(echo "${id%%.*}" | tr + '\n' | sort | paste -sd+ -) wrong=$((wrong + 1)) named="$named $id" ;;
        esac
        [ "$says" = "$id" ] || fail "the diagnosis of $answer is $says, not $id"
    done < "$work/diagnoses"
    [ "$(grep -c . "$work/diagnoses")" = $((wrong + 2)) ] && [ $wrong -ge 3 ] || fail "$wrong wrong answers were graded"
    "$work/solution.c" --ambiguous || fail 'mistakes that cannot be told apart'
    for id in $(ids "$lesson/grade.c" | grep -vx not_begun); do
        case " $named " in *" $id "*) ;; *) fail "no file in wrong/ gets the diagnosis $id" ;; esac
    done
}

# A number of the text is one that is printed (zeros at its end may be cut off), or one that is printed, rounded to three digits or more.
check_numbers() {
    sed '/^```/,/^```/d' "$lesson/README.md" | awk '
        function significant(number) { gsub(/[.]/, "", number); sub(/^0+/, "", number); return length(number) }
        FILENAME != "-" { while (match($0, /[0-9]+[.][0-9]+/)) { printed[substr($0, RSTART, RLENGTH)]; $0 = substr($0, RSTART + RLENGTH) }; next }
        {
            while (match($0, /[0-9]+[.][0-9]+/)) {
                number = substr($0, RSTART, RLENGTH)
                $0 = substr($0, RSTART + RLENGTH)
                if (number in known) continue
                known[number] = found = 0
                format = "%." length(number) - index(number, ".") "f"
                for (p in printed) if ((p + 0 == number + 0) || (significant(number) > 2 && sprintf(format, p) == number)) { found = 1; break }
                if (!found) print number
            }
        }' "$lesson/expected.txt" "$lesson/answers.txt" - > "$work/lines"
    while read -r number; do fail "README.md says $number, which the program does not print"; done < "$work/lines"
}

check_text() {
    words=$(sed '/^```/,/^```/d' "$lesson/README.md" | wc -w)
    [ "$words" -le 1100 ] || fail "README.md has $words words; at most 1100 are allowed"
    [ "$(grep '^## ' "$lesson/README.md" | tr '\n' ' ')" = '## The idea ## Run it ## The code ## Try ## Exercise ## Quiz ' ] &&
        grep -q '^\*\*The question\.\*\*' "$lesson/README.md" ||
        fail 'README.md needs these parts, in this order: **The question.** The idea, Run it, The code, Try, Exercise, Quiz'
    questions=$(sed '1,/^## Quiz/d' "$lesson/README.md" | grep -c '^[0-9]\. ')
    [ "$questions" -ge 3 ] && [ "$questions" -le 6 ] && [ "$questions" = "$(grep -c '^[0-9]\. ' "$lesson/answers.txt")" ] ||
        fail "README.md has $questions questions in its quiz; three to six are needed, and as many answers"
    check_numbers
    awk '/^```/ { inside = $0 == "```text"; next } inside && NF' "$lesson/README.md" | sort -u > "$work/lines"
    cat "$lesson/expected.txt" "$lesson/answers.txt" | sort -u | comm -23 "$work/lines" - > "$work/unknown"
    [ ! -s "$work/unknown" ] || { fail 'README.md shows lines that the program does not print:'; cat "$work/unknown"; }
    sh "$GRADUS/tests/tools/references.sh" "$GRADUS" "$lesson/README.md" > "$work/lines"
    while read -r line; do fail "$line"; done < "$work/lines"
}

check_functions() {
    cat "$lesson/lesson.c" "$lesson/exercise.c" "$lesson/solution.c" | sed 's|/\*.*\*/||' | grep -oE '\b(gr|GR)_[A-Za-z0-9_]+' | sort -u > "$work/used"
    awk -v lesson="${name%%_*}" '/^[0-9]/ { number = $1; $1 = "" } !/^#/ && number <= lesson { print }' "$here/functions.txt" | tr -s ' ' '\n' | sort -u |
        comm -23 "$work/used" - > "$work/unknown"
    while read -r function; do fail "functions.txt does not introduce $function in this lesson or an earlier one"; done < "$work/unknown"
}

check_lesson() {
    missing=
    for file in README.md lesson.c expected.txt answers.txt exercise.c solution.c grade.c wrong; do [ -e "$lesson/$file" ] || missing="$missing $file"; done
    [ -z "$missing" ] || { fail "these files are missing:$missing"; return; }
    no_longer_than 200 lesson.c; no_longer_than 60 exercise.c; no_longer_than 80 solution.c; no_longer_than 400 grade.c
    for file in "$lesson"/wrong/*.c; do
        [ ! -e "$file" ] || no_longer_than 60 "wrong/$(basename "$file")"
    done
    for file in "$lesson"/wrong/*.sed; do
        [ ! -e "$file" ] || { [ "$(wc -l < "$file")" -le 6 ] && sed -n 1p "$file" | grep -q '^# '; } ||
            fail "wrong/$(basename "$file") needs a comment in its first line, and at most 6 lines"
    done
    grep -qF "]($name)" "$here/README.md" || fail 'README.md of the course has no link to this lesson'
    check_program; check_stub; check_answers; check_text; check_functions
}

if [ "$1" = --lesson ]; then
    name=$2 lesson=$here/$2 work=$work_folder/$2 bad=0 wrong=0 named= words=0
    export lesson work
    {
        check_lesson
        [ $bad != 0 ] || echo "$name: stub, solution, $wrong wrong answers, output, quiz, text ($words words): all as promised"
    } > "$work/report" 2>&1
    echo "$named" > "$work/named"
    exit $bad
fi

# ---- All lessons: several at a time ----

work_folder=$1 all_bad=0
export work_folder
shift
for name; do mkdir -p "$work_folder/$name" || exit 1; done
for name; do echo "$name"; done | xargs -P "$cores" -n 1 sh "$here/check_lessons.sh" --lesson || all_bad=1
for name; do cat "$work_folder/$name/report"; done
names() { sed '/^#/d; s/^[0-9]*//' "$here/functions.txt" | tr -s ' ' '\n' | grep .; }
twice=$(names | sort | uniq -d)
[ -z "$twice" ] || { echo "functions.txt introduces twice:" $twice; all_bad=1; }
if [ $# -eq "$(ls -d "$here"/[0-9][0-9]_*/ | wc -l)" ]; then
    seen=$(for name; do cat "$work_folder/$name/named"; done | tr '\n' ' ')
    for id in $(ids "$here/grader.c") crash endless left; do
        case " $seen " in *" $id "*) ;; *) echo "no lesson has a wrong answer with the diagnosis $id of grader.c"; all_bad=1 ;; esac
    done
    if [ $# -eq "$(sed -n 's/^\([0-9]*\) *.*/\1/p' "$here/functions.txt" | grep . | sort -u | wc -l)" ]; then
        unused=$(names | sort -u | { for name; do cat "$work_folder/$name/used"; done | sort -u > "$work_folder/used"; comm -23 - "$work_folder/used"; })
        [ -z "$unused" ] || { echo "functions.txt has names that no lesson uses:" $unused; all_bad=1; }
    fi
fi
exit $all_bad
