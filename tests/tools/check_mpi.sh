#!/bin/bash
# check_mpi.sh 'MPICC' 'MAKE': examples/mpi_mnist ends with the same bits for every number of ranks, and when something is wrong on one rank, all of them
# end with a message. MPIRUN and its flags come from the environment, or suit Open MPI and MPICH.
mpicc=$1 make=$2 bad=0
command -v "$mpicc" > /dev/null || { echo "not run: check-mpi, there is no $mpicc"; exit 0; }
[ -n "${MPIRUN:-}" ] || { MPIRUN=mpirun; ! mpirun --version | grep -q 'Open MPI' || MPIRUN='mpirun --oversubscribe --allow-run-as-root'; }
command -v "${MPIRUN%% *}" > /dev/null || { echo "not run: check-mpi, there is no ${MPIRUN%% *}"; exit 0; }
. "$(dirname "$0")/scratch.sh"
new_scratch
$make MPICC="$mpicc" mpi || exit 1
P=$PWD/examples/mpi_mnist
cat core/*.c ops/*.c nn/*.c > "$scratch/bytes"
cd "$scratch" || exit 2
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none

# Images of bytes of our sources: they are read faster than digits are drawn. 600 for training, 400 for the test.
number() { printf "$(printf '\\0\\0\\%03o\\%03o' $(($1 / 256)) $(($1 % 256)))"; }
images() { printf '\0\0\10\3' && number "$1" && number 28 && number 28 && tail -c +"$2" bytes | head -c $(($1 * 784)); }
labels() { printf '\0\0\10\1' && number "$1" && tail -c +"$2" bytes | head -c "$1" | tr '\0-\377' '[\0*40][\1*8][\2*8][\3*8][\4*8][\5*8][\6*8][\7*8][\10*8][\11*152]'; }
mkdir data other
images 600 1 > data/train-images-idx3-ubyte && labels 600 1 > data/train-labels-idx1-ubyte
images 400 999 > data/t10k-images-idx3-ubyte && labels 400 999 > data/t10k-labels-idx1-ubyte
cp data/* other && printf '\252' | dd of=other/train-images-idx3-ubyte bs=1 seek=100000 conv=notrunc 2> dd.log

small='--data data --hidden 12 --quiet'
wrong() { echo "check_mpi.sh: $*"; bad=1; tail -n 5 err; }
job() { timeout 300 $MPIRUN "$@" < /dev/null > out 2> err; } # job ARGUMENTS OF MPIRUN
same() { # same WHAT FLAGS RANKS...: one process alone gives the line to compare
    local what=$1 flags=$2 ranks alone
    shift 2
    "$P" $small $flags > alone 2> err || wrong "$what: one process fails"
    grep -q 'fingerprint [0-9a-f]\{16\}' alone || wrong "$what: one process prints no fingerprint"
    for ranks; do
        job -np "$ranks" "$P" $small $flags || wrong "$what: $ranks ranks fail"
        cmp -s out alone || wrong "$what: $ranks ranks give $(cat out), one process $(cat alone)"
    done
}
refused() { # refused WHAT MESSAGE ARGUMENTS OF MPIRUN: exit code 2, and the message once
    local what=$1 message=$2 code
    shift 2
    job "$@"; code=$?
    [ $code = 2 ] || wrong "$what: exit code $code instead of 2"
    [ "$(grep -cF "mpi_mnist: $message" err)" = 1 ] || wrong "$what: the message should be there once: $message"
}

# ---- The same bits ----
same '8 shards, dropout, shards of 7 and 8 rows' '--steps 12 --batch 60 --dropout 0.3' 2 4 8
same '24 shards' '--steps 4 --batch 96 --shards 24' 3 6
same '40 shards' '--steps 2 --batch 80 --shards 40' 5
same 'empty shards' '--steps 4 --batch 5 --dropout 0.3' 2 8
same 'without a norm, without clipping' '--steps 4 --norm none --clip 0' 2
"$P" $small --steps 6 > alone
line=
for isa in scalar avx2 avx512 neon; do
    GRADUS_ISA=$isa "$P" $small --steps 0 > out 2>&1 && line="$line${line:+ : }-np 1 env GRADUS_ISA=$isa $P $small --steps 6 --threads 2"
done
case $(echo "$line" | grep -o GRADUS_ISA | wc -l) in
2 | 4) job $line ;;
3) job $line : -np 1 "$P" $small --steps 6 ;;
*) echo 'not run: several instruction sets in one job'; cp alone out ;;
esac || wrong 'several instruction sets: a job fails'
cmp -s out alone || wrong 'several instruction sets give other bits'

# ---- Checkpoints ----
flags="$small --batch 60 --dropout 0.3 --epochs 2 --checkpoint"
for ranks in 1 4; do job -np $ranks "$P" $flags at$ranks --steps 7 || wrong "checkpoint of $ranks ranks"; done
cmp at1 at4 || wrong 'checkpoints of 1 and 4 ranks differ'
"$P" $flags whole --steps 15 > alone
for ranks in 1 2 8; do
    cp at4 go && job -np $ranks "$P" $flags go --steps 15 --resume || wrong "resume with $ranks ranks"
    cmp -s out alone && cmp -s go whole || wrong "a run resumed with $ranks ranks ends with other bits"
done
refused 'resume with other shards' 'go: its run had --shards 8, and this one has 16' -np 2 "$P" $flags go --shards 16 --resume
refused 'resume from two checkpoints' 'rank 1 and rank 0 do not have the same checkpoint' -np 1 "$P" $flags go --resume : -np 1 "$P" $flags at1 --resume
refused 'resume from nothing' 'nothing: cannot be read: No such file or directory' -np 2 "$P" $flags nothing --resume

# ---- Refused at the start ----
refused '3 ranks' '3 ranks cannot share 8 shards: the shards of a rank must be a power of 2, so the number of ranks must be one of 1, 2, 4, 8' -np 3 "$P" $small
refused '4 ranks, 24 shards' '4 ranks cannot share 24 shards: the shards of a rank must be a power of 2, so the number of ranks must be one of 1, 3, 6, 12, 24' \
    -np 4 "$P" $small --shards 24
refused 'BatchNorm' 'lstm.' -np 2 "$P" $small --norm batch
grep -q 'would differ between ranks: the statistics of BatchNorm are those of a shard; use --norm layer' err || wrong 'BatchNorm: no reason'
refused 'one byte differs' 'rank 1 and rank 0 do not have the same data' -np 1 "$P" $small : -np 1 "$P" $small --data other
refused 'no data on one rank' 'rank 1: nowhere' -np 1 "$P" $small : -np 1 "$P" $small --data nowhere
refused 'flags differ' 'rank 1 and rank 0 do not have the same flags' -np 1 "$P" $small : -np 1 "$P" $small --lr 0.1
refused 'a wrong flag' '--shards needs a whole number from 1 to 1048576; got "0"' -np 2 "$P" --shards 0
refused 'a wrong flag of one rank' '--shards needs a whole number from 1 to 1048576; got "0"' -np 1 "$P" $small : -np 1 "$P" --shards 0
job -np 2 "$P" --help || wrong '--help fails'
[ "$(grep -c -- --shards out)" = 1 ] || wrong '--help is printed more than once'

# ---- Faults in the run ----
# Begin a job of 4 ranks that lasts until it is stopped, and wait for its first steps. $pids: the ranks.
begin() {
    : > log
    job -np 4 "$P" $small --epochs 1000000 --checkpoint stopped --log log &
    mpirun=$!
    for ((i = 0; i < 600; i++)); do
        [ "$(grep -c '"step"' log)" -gt 2 ] && break
        sleep 0.1
    done
    pids=($(pgrep -f "^$P .*--checkpoint stopped"))
    [ ${#pids[@]} = 4 ] || wrong "the job has ${#pids[@]} ranks instead of 4"
}

begin
kill -KILL "${pids[2]}"
wait $mpirun && wrong 'a killed rank: the job does not fail'
grep -qi 'signal 9\|KILLED' err || wrong 'a killed rank: no message'
! pgrep -f "^$P .*--checkpoint stopped" > left || wrong 'a killed rank: others go on'

begin
kill -TERM "${pids[3]}"
wait $mpirun
[ $? = 130 ] || wrong 'a stop by one rank: the exit code is not 130'
[ "$(grep -c 'mpi_mnist: interrupted after step [0-9]*; --resume continues the run' err)" = 1 ] || wrong 'a stop by one rank: no message'
steps=$(sed -n 's/.*after step \([0-9]*\);.*/\1/p' err)
"$P" $small --epochs 1000000 --checkpoint whole --steps $((steps + 2)) > alone
job -np 2 "$P" $small --epochs 1000000 --checkpoint stopped --resume --steps $((steps + 2)) || wrong 'a stop by one rank: it cannot be resumed'
cmp -s out alone || wrong 'a stop by one rank: the resumed run ends with other bits'

# The reader of the log leaves: rank 0 alone is in error, and the others learn of it by the exchange.
mkfifo pipe
head -n 4 pipe > read &
job -np 2 "$P" $small --epochs 1000000 --log pipe
[ $? = 3 ] || wrong 'a log that cannot be written: the exit code is not 3'
grep -q 'mpi_mnist: .*Broken pipe' err || wrong 'a log that cannot be written: no message'

[ $bad = 0 ] && echo 'MPI: the same bits for all numbers of ranks; every fault ends all ranks with a message'
exit $bad
