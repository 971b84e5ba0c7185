#!/bin/bash
# sweep_programs.sh: run every program of examples/ under bad conditions: streams that are closed or full, readers that leave, folders that
# cannot be written, files that are folders, empty, without permission or endless. Each program must end by itself with an exit code other
# than 0 and a message that begins with its name, and must not change the files that existed before. It takes a minute or two.
cd "$(dirname "$0")/../.." || exit 2
. tests/tools/scratch.sh
new_scratch
ln -s "$PWD/examples" "$scratch/programs" # a path without spaces, because $P is split into words
here=$PWD dir="$scratch/a folder" runs=0 bad=0
mkdir -p "$dir/is a folder" && : > "$dir/empty" && mkfifo "$dir/fifo" && echo something > "$dir/secret" && chmod 0 "$dir/secret"
cd "$dir" || exit 2

declare -A small=(
    [quickstart]='' [backward_steps]='' [lstm_cell]='' [looking_inside]='' [own_layer]='--steps 5' [own_optimizer]='--steps 5' [weights]='' [transfer]='--steps 2' [invariance]='' [layernorm_by_hand]='' [layernorm_speed]='--quick'
    [mlp_norms]='--data none --hidden 8 --steps 2' [cnn_norms]='--data none --steps 2 --batch 4'
    [char_lstm]='--hidden 8 --window 8 --batch 4 --steps 2 --sample 5' [fused_and_composed]='--only rnn --repeats 1'
    [char_gpt]='--size 8 --heads 2 --layers 1 --context 8 --batch 4 --steps 2 --sample 5'
    [vae]='--data none --hidden 16 --batch 20 --steps 2' [tagger]='--steps 2' [serve]='--data none --hidden 8 --requests 20'
    [names_rnn]='--hidden 8 --embedding 6 --steps 2'
    [transformer_norms]='--size 8 --heads 2 --layers 1 --context 8 --batch 4 --steps 2 --sample 0'
    [deep_dive]='--check --only epsilon --data none --out report'
    [seq_mnist_lstm]='--data none --hidden 8 --steps 2'
)
complain() { bad=1; printf '%s: %s\n    code %s, stderr: %s\n' "$what" "$1" "$code" "$(head -c 300 err 2> /dev/null)"; }
# sweep WHAT COMMAND: run the command, in which $P is the program with its flags, and set code.
sweep() {
    what="$name, $1" runs=$((runs + 1))
    # shellcheck disable=SC2086
    P="timeout -k 5 100 $scratch/programs/$name ${small[$name]}" bash -c "$2" > out 2> err
    code=$?
    case $code in
    124 | 137) complain 'does not end' ;;
    139 | 134 | 135 | 136) complain 'crashes' ;;
    esac
}
refused() { # refused WHAT COMMAND [TEXT]: ends with 2 or 3 and says why
    sweep "$1" "$2"
    case $code in 2 | 3) ;; *) complain 'should end with 2 or 3' ;; esac
    tail -n 1 err | grep -q "^$name: .*${3:-}" || complain "should say why${3:+: $3}"
}
works() { sweep "$1" "$2"; [ $code = 0 ] || complain 'should work'; }

keep() { cp -p "$1" kept; }
assert_kept() { cmp -s "$1" kept || complain "should leave $1 as it was"; }
# Give a flag every kind of path that cannot be read as a file; $2 has more flags.
bad_files() {
    refused "$1 missing" "\$P $2 $1 none/file"
    refused "$1 a folder" "\$P $2 $1 'is a folder'"
    refused "$1 empty" "\$P $2 $1 empty"
    refused "$1 a pipe" "\$P $2 $1 fifo"
    refused "$1 endless" "\$P $2 $1 /dev/zero"
    [ -r secret ] || refused "$1 without permission" "\$P $2 $1 secret" 'Permission denied'
}
# Give a flag every kind of path that cannot be written.
bad_results() {
    refused "$1 in a folder that is not there" "\$P $1 none/file" "$1: cannot write 'none/file': No such file or directory"
    refused "$1 a folder" "\$P $1 'is a folder'" "$1: cannot write 'is a folder': it is not a regular file"
    refused "$1 a pipe" "\$P $1 fifo" "$1: cannot write 'fifo': it is not a regular file"
    refused "$1 to nowhere" "\$P $1 /dev/null" "$1: cannot write '/dev/null': it is not a regular file"
    refused "$1 in a folder that takes no files" "\$P $1 /proc/file" "$1: cannot write '/proc/file': "
}

streams() {
    refused 'stdout closed' '$P >&-' 'cannot write to stdout: Bad file descriptor'
    refused 'all closed but stderr' '$P <&- >&-' 'cannot write to stdout: Bad file descriptor'
    refused 'stdout full' '$P > /dev/full' 'cannot write to stdout: No space left on device'
    refused 'help, stdout full' '$P --help > /dev/full' 'help cannot be written: No space left on device'
    refused 'a reader who left' 'rm -f p; mkfifo p; exec 3<> p 4> p 3>&-; exec $P >&4 4>&-' 'cannot write to stdout: Broken pipe'
    refused 'log full' '$P --log /dev/full' 'cannot write the log: No space left on device'
    refused 'log may not grow' '(ulimit -f 0; exec $P --log log 2>&1 > /dev/null) | cat >&2; exit ${PIPESTATUS[0]}' 'cannot write the log: File too large'
    refused 'log in a folder that is not there' '$P --log none/log' 'cannot open the log: No such file or directory'
    refused 'log a folder' '$P --log "is a folder"' 'cannot open the log: Is a directory'
    refused 'log a pipe without a reader' '$P --log fifo' 'nobody reads this pipe'
    refused 'log in a folder that takes no files' '$P --log /proc/log' 'cannot open the log'
    [ -w secret ] || refused 'log without permission' '$P --log secret' 'cannot open the log: Permission denied'
    works 'log to nowhere' '$P --log /dev/null'
    works 'log to stdout' '$P --log /dev/stdout'
    echo 'of an earlier run' > log && keep log
    refused 'a bad flag, and a log' '$P --log log --seed x' 'seed needs a whole number'
    assert_kept log
    works 'current folder takes no files' 'cd /proc && ${P/--out report/}'
}

digits() {
    refused 'data a file' '$P --data empty' 'Not a directory'
    refused 'data an empty folder' '$P --data "is a folder"' 'no such file'
    mkdir -p digits
    : > digits/train-images-idx3-ubyte
    refused 'an empty file of digits' '$P --data digits' 'ends inside its header'
    rm -f digits/train-images-idx3-ubyte && mkfifo digits/train-images-idx3-ubyte
    refused 'digits in a pipe' '$P --data digits' 'is not a regular file'
    rm -f digits/train-images-idx3-ubyte && mkdir digits/train-images-idx3-ubyte
    refused 'digits in a folder' '$P --data digits' 'is not a regular file'
    rmdir digits/train-images-idx3-ubyte
}

for source in "$here"/examples/*.c; do
    name=$(basename "$source" .c)
    [ "${name#mpi_}" = "$name" ] || continue # make check-mpi
    [ -n "${small[$name]+is there}" ] || { echo "sweep_programs.sh does not know $name"; bad=1; continue; }
    what="$name, its locale" code=none
    ! grep -q setlocale "$here/examples/$name" || complain 'should set no locale: numbers have a point in every file and on every command line'
    works 'as it should be' '$P'
    works 'stdin closed' '$P <&-'
    works 'stderr closed' '$P 2>&-'
    if [ "$name" = quickstart ]; then
        for to in '>&-' '> /dev/full'; do sweep "stdout $to" "\$P $to"; [ $code = 1 ] && [ -s err ] || complain 'should end with 1 and a message'; done
    else streams; fi
    case $name in mlp_norms | cnn_norms | seq_mnist_lstm | vae | serve | deep_dive) digits ;; char_lstm | names_rnn | transformer_norms) bad_files --data ;; char_gpt) bad_files --text ;; esac
    [ "$name" != serve ] || bad_files --load
done

name=deep_dive
bad_files --text
bad_files --plotly
refused 'out a file' '${P/report/empty}' 'out empty: cannot make this folder: Not a directory'
refused 'out in a folder that takes no files' '${P/report//proc/report}' 'cannot make this folder'
rm -f report/runs.jsonl && mkdir report/runs.jsonl
refused 'runs.jsonl a folder' '$P' "out: cannot write 'report/runs.jsonl': it is not a regular file"
rmdir report/runs.jsonl && mkfifo report/runs.jsonl
refused 'runs.jsonl a pipe' '$P' "out: cannot write 'report/runs.jsonl': it is not a regular file"
rm -f report/runs.jsonl && : > report/runs.jsonl
works 'runs.jsonl empty' '$P'
keep report/runs.jsonl
refused 'files may not grow' '(ulimit -f 0; exec $P --seed 7 2>&1 > /dev/null) | cat >&2; exit ${PIPESTATUS[0]}' 'File too large'
assert_kept report/runs.jsonl

name=weights
bad_files --file
bad_results --save
refused 'the file may not grow' '(ulimit -f 0; exec $P --save weights 2>&1 > /dev/null) | cat >&2; exit ${PIPESTATUS[0]}' 'File too large'

name=looking_inside
bad_results --dot

name=seq_mnist_lstm
bad_files --load
bad_files --checkpoint --resume
for flag in --save --checkpoint --report; do bad_results $flag; done
works 'checkpoint' '$P --checkpoint checkpoint --save weights'
keep checkpoint
refused 'checkpoint may not grow' '(ulimit -f 0; exec $P --seed 7 --checkpoint checkpoint 2>&1 > /dev/null) | cat >&2; exit ${PIPESTATUS[0]}' 'File too large'
assert_kept checkpoint
refused 'another --seed' '$P --seed 7 --checkpoint checkpoint --resume' 'belongs to a tape with seed 42; this tape has seed 7'
assert_kept checkpoint
keep weights
refused 'weights may not grow' '(ulimit -f 0; exec $P --seed 7 --save weights 2>&1 > /dev/null) | cat >&2; exit ${PIPESTATUS[0]}' 'File too large'
assert_kept weights
works 'the report keeps the weights' 'rm -f other; (ulimit -f 16; exec $P --save other --report report.html 2>&1) | cat; [ -s other ] && [ ! -e report.html ]'

left=$(find . -name '*.tmp')
[ -z "$left" ] || { echo "half-written files are left behind: $left"; bad=1; }
echo "sweep_programs.sh: $runs runs"
exit $bad
