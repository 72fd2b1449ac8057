#!/usr/bin/env bash
# A terminal on a machine without a GPU.   slurm/srun_general.sh [further flags of srun]
set -euo pipefail

PARTITION=${PARTITION:-general}
CPUS=${CPUS:-8}
MEMORY=${MEMORY:-8G}
TIME=${TIME:-02:00:00}

exec srun --partition="$PARTITION" --ntasks=1 --cpus-per-task="$CPUS" \
    --mem="$MEMORY" --time="$TIME" "$@" --pty bash -i
