#!/usr/bin/env bash
# A terminal on a machine with a GPU.   slurm/srun_gpu.sh [further flags of srun]
set -euo pipefail

PARTITION=${PARTITION:-volta-gpu}
GPUS=${GPUS:-1}
CPUS=${CPUS:-4}
MEMORY=${MEMORY:-16G}
TIME=${TIME:-02:00:00}

exec srun --partition="$PARTITION" --gres=gpu:"$GPUS" --ntasks=1 --cpus-per-task="$CPUS" \
    --mem="$MEMORY" --time="$TIME" "$@" --pty bash -i
