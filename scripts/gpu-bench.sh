#!/usr/bin/env bash
# Measure samplers and their start-up on a machine with an NVIDIA GPU.
#
#   scripts/gpu-bench.sh STEP MODEL [OUT]
#
# STEP is one of
#   facts       the plugin, its flags that matter, and which kernels XLA chose
#   throughput  samples/s by precision and batch size, with a check against the CPU
#   startup     time to compile under different XLA flags and with a warm cache
#   same        whether counts are the same for other batches and chunks, several
#               runs at once, and after a kill -9 (N draws an example, 20000)
# MODEL is an ONNX file, a checkpoint or builtin:NAME; OUT a folder for logs.
# Set LORICA to the binary (default ./lorica) and ENGINE to the engine
# (default xla:cuda). Every run has its own time limit, so one bad flag costs
# only its own line.
set -uo pipefail
step=${1:?facts, throughput, startup or same}
model=${2:?model}
out=${3:-$(mktemp -d)}
lorica=${LORICA:-./lorica}
engine=${ENGINE:-xla:cuda}
mkdir -p "$out"
user_flags=${XLA_FLAGS:-}

plugin() {
  case $engine in
  xla:/*) echo "${engine#xla:}" ;;
  *) "$lorica" engines | awk -v e="$engine" '$1 == e { sub(";", "", $2); print $2; exit }' ;;
  esac
}

# An unknown flag ends the process, so every flag is looked up in the plugin.
known() { grep -qaF -- "$1" "$(plugin)"; }

# bench NAME FLAGS ARGS...: one run, its result as a line of JSON.
bench() {
  local name=$1 flags=$2
  shift 2
  for f in $flags; do
    f=${f#--}
    known "${f%%=*}" || { echo "{\"run\":\"$name\",\"error\":\"flag ${f%%=*} is not in this plugin\"}"; return; }
  done
  local start=$SECONDS line
  if line=$(XLA_FLAGS="$user_flags $flags" timeout "${LIMIT:-150}" "$lorica" bench --model "$model" --engine "$engine" --json "$@" 2>"$out/$name.log"); then
    while IFS= read -r l; do echo "{\"run\":\"$name\",\"wall_s\":$((SECONDS - start)),\"result\":$l}"; done <<<"$line"
  else
    echo "{\"run\":\"$name\",\"wall_s\":$((SECONDS - start)),\"error\":\"$(tail -c 300 "$out/$name.log" | tr '\n"\\' "   ")\"}"
  fi
}

case $step in
facts)
  "$lorica" engines
  grep -aoE 'xla_gpu_[a-z0-9_]{4,60}' "$(plugin)" | sort -u >"$out/flags.txt"
  echo "flags in the plugin: $(wc -l <"$out/flags.txt") (in $out/flags.txt)"
  grep -E 'autotune|cache|parallel|cudnn|command_buffer|graph_min' "$out/flags.txt" | tr '\n' ' '
  echo
  for p in bfloat16 float32; do
    dump=$out/dump-$p
    bench "dump-$p" "--xla_dump_to=$dump --xla_dump_hlo_as_text --xla_dump_hlo_pass_re=NONE" --precision $p --batch 1024 --compile-only
    text=$(ls "$dump"/*sampler*after_optimizations.txt 2>/dev/null | head -1)
    [ -n "$text" ] || continue
    echo "custom calls of $p:"
    grep -oE 'custom_call_target="[^"]*"' "$text" | sort | uniq -c
    echo "fusions: $(grep -cE '^ +(ROOT )?%?[a-z_.0-9]*fusion[a-z_.0-9]* =' "$text")"
    mkdir -p "$out/hlo" && cp "$text" "$out/hlo/$p.txt"
  done
  # Where compilation spends its time, by the compiler's own log.
  TF_CPP_MIN_LOG_LEVEL=0 TF_CPP_VMODULE=gpu_compiler=2,nvptx_compiler=2,autotuner=1,autotuner_pass=1,conv_algorithm_picker=2,gemm_fusion_autotuner=1,hlo_pass_pipeline=1,compile_module_to_llvm_ir=1 \
    bench vlog "" --precision bfloat16 --batch 1024 --compile-only
  grep -E '^[IWE][0-9 ]' "$out/vlog.log" | cut -c1-180 | awk '{ split($2, t, ":"); s = t[1]*3600 + t[2]*60 + t[3]; if (NR > 1 && s - last > 0.5) printf "%.1f s before: %s\n", s - last, $0; last = s }' | head -40
  ;;
throughput)
  bench bf16 "" --precision bfloat16 --batches "${BATCHES:-1024,4096}" --seconds 5 --check 2000
  bench f32 "" --precision float32 --batches "${BATCHES32:-2048}" --seconds 5 --check 2000
  # Float32 without the tensor cores' 10-bit products: what XLA calls float32
  # may be TF32 on these GPUs; a check that differs less says that it was.
  NVIDIA_TF32_OVERRIDE=0 bench f32-strict "" --precision float32 --batches "${BATCHES32:-2048}" --seconds 5 --check 2000
  ;;
startup)
  args="--precision bfloat16 --batch ${BATCH:-4096} --compile-only"
  bench default "" $args
  bench parallel "--xla_gpu_force_compilation_parallelism=16" $args
  bench parallel-llvm "--xla_gpu_enable_llvm_module_compilation_parallelism=true" $args
  bench no-triton-gemm "--xla_gpu_enable_triton_gemm=false" $args
  bench cold-cache "--xla_gpu_per_fusion_autotune_cache_dir=$out/autotune" $args
  bench warm-cache "--xla_gpu_per_fusion_autotune_cache_dir=$out/autotune" $args
  bench cold-kernels "--xla_gpu_kernel_cache_file=$out/kernels --xla_gpu_enable_llvm_module_compilation_parallelism=true" $args
  bench warm-kernels "--xla_gpu_kernel_cache_file=$out/kernels --xla_gpu_enable_llvm_module_compilation_parallelism=true" $args
  bench autotune-1 "--xla_gpu_autotune_level=1" $args
  bench no-graphs "--xla_gpu_enable_command_buffer=" $args
  ;;
same)
  certify() {
    local to=$1
    shift
    "$lorica" certify --model "$model" --data builtin --cost 'cat->*' --sigma 0.5 --engine "$engine" \
      --precision "${PRECISION:-bfloat16}" --n "${N:-20000}" --out "$out/$to" "$@" >"$out/$to.log" 2>&1
  }
  certify plain
  certify small-batch --batch 100
  certify large-batch --batch 50000 --chunk 377
  for k in 1 2 3; do certify "at-once-$k" & done
  wait
  certify killed &
  for _ in $(seq 6000); do
    [ "$(wc -l <"$out/killed/counts.jsonl" 2>/dev/null || echo 0)" -ge 25 ] && break
    sleep 0.05
  done
  pkill -9 -f -- "--out $out/killed" && wait
  echo "killed after $(wc -l <"$out/killed/counts.jsonl") lines"
  certify killed --batch 9999
  verdict=0
  for run in small-batch large-batch at-once-1 at-once-2 at-once-3 killed; do
    # The first line says how a run was cut, among other things.
    if cmp -s <(tail -n +2 "$out/plain/counts.jsonl") <(tail -n +2 "$out/$run/counts.jsonl"); then
      echo "$run: the same $(($(wc -l <"$out/plain/counts.jsonl") - 1)) records"
    else
      echo "$run: DIFFERENT"
      verdict=1
    fi
  done
  echo "logs in $out" >&2
  exit $verdict
  ;;
*)
  echo "unknown step $step" >&2
  exit 2
  ;;
esac
echo "logs in $out" >&2
