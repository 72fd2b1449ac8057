#!/bin/sh
# Stands for every stage's program: writes what the pipeline looks at, and nothing else.
# FAKE_LOG: where each call is noted. FAKE_FAIL, FAKE_WAIT: the stage that fails or waits for a
# signal, when the file of that name is there.
set -eu
stage=${0##*/rl755-}
line=$*
out= count=1 resume=
while [ $# -gt 0 ]; do
    case $1 in
    --out-dir | --model-dir) out=$2 ;;
    --num-rollouts) count=$2 ;;
    --resume) resume=1 ;;
    --wrong) echo "error: unexpected argument '--wrong' found" >&2 && exit 2 ;;
    --help) exit 0 ;;
    esac
    shift
done
echo "$stage $line" >>"$FAKE_LOG"
[ -z "$out" ] || mkdir -p "$out"

manifest() {
    cat >"$out/manifest.json" <<JSON
{"format": 1, "made_by": "fake", "stage": "$stage", "name": "fake", "status": "$1", "seed": 0,
 "config": "$line", "inputs": [], "seconds": 0.0, "results": {}}
JSON
}

if [ -e "$FAKE_LOG.fail-$stage" ]; then
    manifest running
    echo "error: the fake fails" >&2
    exit 1
fi
if [ -e "$FAKE_LOG.wait-$stage" ]; then
    manifest running
    sleep 100 &
    trap 'kill $!; exit 130' TERM
    echo "waiting"
    wait
fi
case $stage in
collect)
    mkdir -p "$out/sessions"
    i=0
    while [ $i -lt "$count" ]; do
        echo rollout >"$out/rollout-0000-$i.tfrecord"
        i=$((i + 1))
    done
    echo '{"complete": true}' >"$out/sessions/0000.json"
    ;;
pack | encode) echo "{\"line\": \"$line\"}" >"$out/dataset.json" ;;
verify) ;;
evaluate)
    case $line in
    *controller*) scores='[11.0, 13.0]' ;;
    *) scores='[1.0, 3.0]' ;;
    esac
    echo "{\"environment\": \"CarRacing-v3\", \"scores\": $scores}" >"$out/scores.json"
    manifest complete
    ;;
*) manifest complete ;;
esac
