#!/usr/bin/env bash
# This half of tools/gpu_check runs on the machine with the GPU, as `run` in the unpacked pack; it needs bash, grep,
# sed and coreutils. Each step has a limit of time and is a process of its own: one that fails or hangs is told of, and the
# others run.
#
#   run [RESULTS]      makes RESULTS/results.json, table.md and log.txt (gpu-check-results); prints the table
#
# GPU_CHECK_SECONDS (450) limits all steps together, GPU_CHECK_STEP_SECONDS each further than its own limit. GPU_CHECK_ONLY
# names the parts to run, separated by commas: all_parts below has them. The exit status is 0 if no step failed or went
# without time.
set -uo pipefail
export LC_ALL=C GTEST_COLOR=no  # mpirun gives its processes a terminal
pack=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
results=${1:-gpu-check-results}
limit=${GPU_CHECK_SECONDS:-450} step_limit=${GPU_CHECK_STEP_SECONDS:-450}
case "$limit-$step_limit" in
  -* | *- | *[!0-9-]*)
    echo "GPU_CHECK_SECONDS and GPU_CHECK_STEP_SECONDS are numbers of seconds; found '$limit' and '$step_limit'" >&2
    exit 2
    ;;
esac
all_parts=probe,tests,hops,solves,tests2,tests4,halos,algebra,gauge,trajectory,measurements,glass,multigrid,counters,memcheck,large_hops,large_solves,further_hops
only=${GPU_CHECK_ONLY:-$all_parts}
only=${only// /,}
for part in ${only//,/ }; do
  case ",$all_parts," in
    *",$part,"*) ;;
    *)
      echo "GPU_CHECK_ONLY names parts of the check, separated by commas: $all_parts; found '$part'" >&2
      exit 2
      ;;
  esac
done
mkdir -p "$results" && results=$(cd "$results" && pwd) && work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
# shellcheck source=/dev/null
. "$pack/settings"
cores=$(nproc) slower=$((simulated ? 4 : 1))
steps_json=() tests_json=() machine_json=() failed_steps=0 late_steps=0
: >"$results/log.txt" && : >"$work/steps.md" && : >"$work/failures.md" && : >"$work/sections.md" || exit 2
: >"$work/machine.md"
: >"$work/tests.md"

# Open MPI comes from the folder of the pack, and uses shared memory alone. A process without mpirun is a world of one.
export OPAL_PREFIX=$pack OPAL_LIBDIR=$pack/lib OMPI_MCA_mca_base_component_path=$pack/lib/openmpi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_ess_singleton_isolated=1
export OMPI_MCA_plm=isolated OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none PMIX_MCA_pcompress_base_silence_warning=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
# This is for the pack's own programs alone: those of the machine have libraries of their own.
# Some machines have the driver's library on LD_LIBRARY_PATH, or in the folder that containers mount, and nowhere else.
with_libraries=(env "LD_LIBRARY_PATH=$pack/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}:/usr/local/nvidia/lib64:/usr/local/nvidia/lib")
PATH=$PATH:/usr/local/nvidia/bin:/usr/local/cuda/bin

left() { echo $((limit - SECONDS)); }
# wanted PART: it is among those to run.
wanted() { [[ ",$only," == *",$1,"* ]]; }
least() { echo $(($1 < $2 ? $1 : $2)); }

# quoted TEXT: prints it as a JSON text; control characters become spaces but for ends of lines.
quoted() {
  local text
  text=$(printf '%s' "$1" | tr '\000-\011\013-\037' ' ' | tr -d '\177-\377')
  text=${text//\\/\\\\}
  text=${text//\"/\\\"}
  printf '"%s"' "${text//$'\n'/\\n}"
}
joined() {
  local IFS=,
  echo "$*"
}
cell() { printf '%s' "${1//|//}" | tr '\n' ' '; }

# note NAME RESULT SECONDS LIMIT REMARK LOG: puts one step into both results, with the end of the log if there is one.
note() {
  local tail=
  [ -z "$6" ] || tail=$(tail -n 15 "$6" 2>/dev/null | tr -d '\r' | cut -c 1-400)
  steps_json+=("{\"name\": $(quoted "$1"), \"result\": \"$2\", \"seconds\": $3, \"limit\": $4, \"remark\": $(quoted "$5"), \"tail\": $(quoted "$tail")}")
  echo "| $(cell "$1") | $2 | $3 | $(cell "$5") |" >>"$work/steps.md"
  [ "$2" != failed ] || failed_steps=$((failed_steps + 1))
  # shellcheck disable=SC2016
  [ -z "$tail" ] || printf '\n**%s** (%s)\n\n```\n%s\n```\n' "$1" "$5" "$tail" >>"$work/failures.md"
  write_results  # a run that is ended from outside leaves what it knows
  echo "== $1: $2${5:+ ($5)}, $3 s; $(left) s left"
}
not_run() { note "$1" "not run" 0 0 "$2" ""; }

# step NAME SECONDS COMMAND...: its output goes to $log. It returns 0 if the command ended with status 0 in time;
# `check_log` may object.
step_number=0 log='' check_log=''
step() {
  local name=$1 most start=$SECONDS pid status remark='' until shown
  most=$(least "$(least $(($2 * slower)) "$step_limit")" $(($(left) - 8)))
  shift 2
  step_number=$((step_number + 1))
  log=$work/$step_number.txt
  : >"$log"
  if [ "$most" -lt 3 ]; then
    not_run "$name" "no time is left"
    late_steps=$((late_steps + 1))
    return 1
  fi
  (
    timeout -k 3 "$most" "$@"
    exit # the shell says into the log which signal ended the program
  ) >"$log" 2>&1 </dev/null &
  pid=$!
  until=$((SECONDS + most + 6))
  # What hangs inside the driver cannot even be killed: the others do not wait for it.
  while kill -0 "$pid" 2>/dev/null && [ "$SECONDS" -lt "$until" ]; do sleep 0.1; done
  if kill -0 "$pid" 2>/dev/null; then
    status=124 remark="hangs and could not be ended; "
  else
    wait "$pid"
    status=$?
  fi
  shown=$log
  case $status in
    0)
      shown=
      [ -z "$check_log" ] || remark=$("$check_log") || status=1
      ;;
    124 | 137) remark+="stopped after $most s" ;;
    *) remark="status $status" ;;
  esac
  { echo "======== $name: status $status" && cat "$log"; } >>"$results/log.txt"
  note "$name" "$([ $status = 0 ] && echo ok || echo failed)" $((SECONDS - start)) "$most" "$remark" "$shown"
  return $status
}

# ---- the machine -----------------------------------------------------------------------------------------
fact() {
  machine_json+=("$(quoted "$1"): $(quoted "$2")")
  echo "| $(cell "$1") | $(cell "$2") |" >>"$work/machine.md"
}
first_line() { grep -m 1 "$1" "$2" 2>/dev/null | cut -d "$3" -f 2 | tr -d '"' | tr -s ' \t' ' ' | sed 's/^ //'; }

host_facts() {
  fact "packed revision" "$revision, $packed"
  fact "date" "$(date -u +%Y-%m-%dT%H:%MZ)"
  fact "processor" "$(first_line 'model name' /proc/cpuinfo :), $cores cores"
  fact "memory" "$(first_line MemTotal /proc/meminfo :)"
  fact "system" "$(first_line PRETTY_NAME /etc/os-release =), kernel $(uname -r), $(getconf GNU_LIBC_VERSION 2>/dev/null)"
}

# nvidia_facts WHEN FIELDS [FEWER]: asks for them together, since each question takes half a second. Drivers that do not
# know a field refuse the whole question.
nvidia_facts() {
  local names values i
  # shellcheck disable=SC2016
  step "nvidia-smi, $1" 10 bash -c 'said=$(nvidia-smi "--query-gpu=$1" --format=csv) && echo "$said" ||
    nvidia-smi "--query-gpu=${2:-name}" --format=csv' - "${@:2}" || return 1
  IFS=, read -r -a names < <(grep -v '^$' "$log" | head -n 1)
  IFS=, read -r -a values < <(grep -v '^$' "$log" | tail -n +2 | head -n 1)
  for i in "${!names[@]}"; do fact "${names[i]# }, $1" "${values[i]# }"; done
}
gpu_facts() {
  local clocks=clocks.sm,clocks.max.sm,clocks.mem,clocks.max.mem pcie=pcie.link.gen.current,pcie.link.gen.max
  if ! command -v nvidia-smi >/dev/null; then
    not_run "nvidia-smi" "it is not on the PATH"
    return
  fi
  nvidia_facts "at the start" "name,driver_version,memory.total,$clocks,$pcie,pcie.link.width.current,power.limit,compute_mode,mig.mode.current" \
    "name,driver_version,memory.total"
}

# ---- programs --------------------------------------------------------------------------------------------
# collect gathers the lines of JSON and of tables that a program has printed, also before it failed.
result_lines=()
collect() {
  local line
  while IFS= read -r line; do
    case $line in
      '{'*'}') result_lines+=("$line") ;;
      '### '*) printf '\n%s\n\n' "$line" >>"$work/sections.md" ;;
      '|'*'|') echo "$line" >>"$work/sections.md" ;;
    esac
  done <"$log"
}

# bench SECTION SECONDS LATTICES [NAME]: it begins no case in the last quarter of its time.
bench() {
  local most
  if [ -z "$3" ]; then
    not_run "${4:-$1}" "it is for a real GPU"
    return
  fi
  most=$(least "$(least $(($2 * slower)) "$step_limit")" $(($(left) - 8)))
  step "${4:-$1}" "$2" "${with_libraries[@]}" "OMP_NUM_THREADS=$(least "$cores" 16)" "$pack/bin/gpu_bench" "$1" $((most * 3 / 4)) "$3"
  collect
}

# bench_of RANKS SECTION SECONDS LATTICES
bench_of() {
  local most
  most=$(least "$(least $(($3 * slower)) "$step_limit")" $(($(left) - 8)))
  step "$2, $1 processes" "$3" "${with_libraries[@]}" "OMP_NUM_THREADS=4" "$pack/bin/mpirun" -n "$1" "$pack/bin/gpu_bench" "$2" \
    $((most * 3 / 4)) "$4"
  collect
}

# ---- tests -----------------------------------------------------------------------------------------------
passed=0 same_bits=0 failed_tests=() differing=()
count_tests() {
  local line
  while IFS= read -r line; do
    case $line in
      '[       OK ]'*) passed=$((passed + 1)) ;;
      *': same bits') same_bits=$((same_bits + 1)) ;;
      *': differs by '*) differing+=("$line") ;;
    esac
  done <"$log"
}
# Tests that are skipped, for want of a GPU, have not succeeded.
nothing_skipped() {
  if grep -q '^\[  SKIPPED \]' "$log"; then
    echo "skipped: $(grep -m 1 'no GPU: ' "$log")"
    return 1
  fi
  grep -q '^\[  PASSED  \] [1-9]' "$log" || { echo "no test ran" && return 1; }
}
begin_tests() {
  passed=0 same_bits=0 failed_tests=() differing=() check_log=nothing_skipped
}
# end_tests PROCESSES
end_tests() {
  local line list=()
  check_log=
  for line in "${failed_tests[@]}" "${differing[@]}"; do list+=("$(quoted "$line")"); done
  tests_json+=("{\"processes\": $1, \"passed\": $passed, \"same_bits\": $same_bits, \"different_bits\": ${#differing[@]}, \"failed_or_different\": [$(joined "${list[@]}")]}")
  echo "| $1 | $passed | ${#failed_tests[@]} | $same_bits | ${#differing[@]} |" >>"$work/tests.md"
  for line in "${differing[@]}"; do printf '\n%s processes: %s\n' "$1" "$line" >>"$work/different.md"; done
}

# Each test has a process of its own, since after a fault in a kernel a process can use the GPU no more.
tests_of_one_process() {
  local until=$((SECONDS + $1 * slower)) name names
  export OMP_NUM_THREADS
  OMP_NUM_THREADS=$(least "$cores" 8)
  step "list of tests" 15 "${with_libraries[@]}" "$pack/bin/test_cuda" --gtest_list_tests || return
  mapfile -t names < <(grep '^  ' "$log")
  begin_tests
  for name in "${names[@]// /}"; do
    step "test $name" "$(least 25 $((until - SECONDS)))" "${with_libraries[@]}" "$pack/bin/test_cuda" "--gtest_filter=*.$name" ||
      failed_tests+=("$name")
    count_tests
  done
  end_tests 1
}
# tests_of PROCESSES SECONDS
tests_of() {
  export OMP_NUM_THREADS
  OMP_NUM_THREADS=$(least $((cores / $1 > 0 ? cores / $1 : 1)) 4)
  begin_tests
  # Trajectories, measurements and multigrid of several processes take minutes on a simulated GPU. Four processes run there
  # only what depends on halos and messages. tools/long_checks gpu has all tests.
  local filter='*'
  if [ -n "$simulated" ]; then
    filter='Cuda.*'
    [ "$1" -lt 4 ] || filter='Cuda.*halos*:Cuda.*operators*:Cuda.pure*:Cuda.messages*:Cuda.exchanges*'
  fi
  step "tests, $1 processes" "$2" "${with_libraries[@]}" "$pack/bin/mpirun" -n "$1" "$pack/bin/test_cuda" \
    "--gtest_filter=$filter"
  mapfile -t failed_tests < <(grep -oE '^\[  FAILED  \] \w+\.\w+ \(' "$log" | cut -d ' ' -f 6)
  count_tests
  end_tests "$1"
}

memcheck() {
  local tool
  tool=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer \
    /usr/local/cuda*/compute-sanitizer/compute-sanitizer /opt/nvidia/*/compute-sanitizer 2>/dev/null | head -n 1)
  if [ -n "$simulated" ] || [ -z "$tool" ]; then
    not_run "memcheck" "$([ -n "$simulated" ] && echo "the GPU is simulated" || echo "compute-sanitizer is not installed here")"
    return
  fi
  check_log=nothing_skipped
  step "memcheck" "$1" "$tool" --tool memcheck --error-exitcode 9 --target-processes all \
    "${with_libraries[@]}" "$pack/bin/test_cuda" \
    '--gtest_filter=*links_go*:*loops*:*staggered*'
  check_log=
}

# ---- counters --------------------------------------------------------------------------------------------
# Nsight Compute says of a few launches what moved, how, and how full the GPU was.
counter_names=(gpu__time_duration.sum dram__bytes.sum lts__t_sectors.sum
  l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
  smsp__inst_executed.sum sm__warps_active.avg.pct_of_peak_sustained_active launch__registers_per_thread)

# rows_of_csv prints the columns of a CSV file that have these names, a line for each launch, with the byte 1f between cells.
rows_of_csv() {
  local header=() cells=() line i name row
  while IFS= read -r line; do
    IFS=$'\x1f' read -r -a cells < <(printf '%s\n' "$line" | sed 's/","/\x1f/g; s/^"//; s/"$//')
    [ "${#header[@]}" -gt 0 ] || header=("${cells[@]}")
    row=
    for name in "$@"; do
      for i in "${!header[@]}"; do [ "${header[i]}" != "$name" ] || row+="${row:+$'\x1f'}${cells[i]:--}"; done
    done
    printf '%s\n' "$row"
  done < <(grep '^"')
}

counters() {
  local tool cells=() names=() json i
  tool=$(command -v ncu || ls /usr/local/cuda*/bin/ncu /opt/nvidia/nsight-compute/*/ncu 2>/dev/null | head -n 1)
  if [ -n "$simulated" ] || [ -z "$tool" ]; then
    not_run "counters" "$([ -n "$simulated" ] && echo "the GPU is simulated" || echo "ncu is not installed here")"
    return
  fi
  step "counters" "$1" "$tool" --csv --page raw --clock-control none --target-processes all \
    -k 'regex:site_kernel|group_kernel|term_kernel|sum_kernel' -c 80 --metrics "$(joined "${counter_names[@]}")" \
    "${with_libraries[@]}" OMP_NUM_THREADS=4 "$pack/bin/gpu_bench" counters "$1" "$small"
  grep -q '^"ID"' "$log" || return
  printf '\n### counters\n\n' >>"$work/sections.md"
  while IFS=$'\x1f' read -r -a cells; do
    if [ "${#names[@]}" = 0 ]; then
      names=("${cells[@]}")
      printf '| %s |\n|%s\n' "$(joined "${names[@]}" | sed 's/,/ | /g')" "$(printf -- '---|%.0s' "${names[@]}")" >>"$work/sections.md"
      continue
    fi
    json='"section": "counters"' cells[0]=${cells[0]//trellis::/} cells[0]=${cells[0]:0:160}
    for i in "${!names[@]}"; do json+=", $(quoted "${names[i]}"): $(quoted "${cells[i]}")"; done
    result_lines+=("{$json}")
    { printf '|' && for i in "${!names[@]}"; do printf ' %s |' "$(cell "${cells[i]}")"; done && echo; } >>"$work/sections.md"
  done < <(rows_of_csv "Kernel Name" "Block Size" "Grid Size" "${counter_names[@]}" <"$log")
}

# ---- report ----------------------------------------------------------------------------------------------
write_json() {
  {
    echo "{\"revision\": $(quoted "$revision"), \"simulated\": $([ -n "$simulated" ] && echo true || echo false),"
    echo "\"seconds\": $SECONDS, \"failed_steps\": $failed_steps, \"steps_without_time\": $late_steps,"
    echo "\"machine\": {$(joined "${machine_json[@]}")},"
    echo "\"tests\": [$(joined "${tests_json[@]}")],"
    echo "\"steps\": [$(joined "${steps_json[@]}")],"
    echo "\"results\": [$(joined "${result_lines[@]}")]}"
  } >"$work/results.json" && mv "$work/results.json" "$results/results.json"
}
write_table() {
  {
    echo "# GPU check${simulated:+ (simulated GPU)}"
    [ -z "$simulated" ] ||
      printf '\nThe GPU is **simulated** on the processor: times and rates below say nothing about a GPU.\n'
    printf '\n| machine | |\n|---|---|\n' && cat "$work/machine.md"
    printf '\n| step | result | seconds | remark |\n|---|---|---|---|\n' && cat "$work/steps.md"
    printf '\n| processes | tests passed | failed | comparisons with same bits | with different bits |\n|---|---|---|---|---|\n'
    cat "$work/tests.md"
    [ ! -e "$work/different.md" ] || cat "$work/different.md"
    cat "$work/sections.md"
    [ ! -s "$work/failures.md" ] || { printf '\n## Failed steps\n' && cat "$work/failures.md"; }
  } >"$work/table.md" && mv "$work/table.md" "$results/table.md"
}

write_results() { write_json && write_table; }

run_all() {
  if [ -n "$simulated" ]; then
    fact "GPU" "simulated on the processor"
    ! wanted probe || not_run "probe" "the GPU is simulated"
  else
    gpu_facts
    if wanted probe; then
      step "probe" 30 "${with_libraries[@]}" "$pack/bin/gpu_probe"
      collect
    fi
  fi
  ! wanted tests || tests_of_one_process 70
  ! wanted hops || bench hops 45 "$small"
  [ -n "$simulated" ] || ! wanted hops || ! command -v nvidia-smi >/dev/null ||
    nvidia_facts "after the hops" "clocks.sm,clocks.mem,temperature.gpu,power.draw"
  ! wanted solves || bench solves 30 "$small"
  ! wanted tests2 || tests_of 2 30
  ! wanted tests4 || tests_of 4 30
  ! wanted halos || bench halos 30 "$small${large:+,8,24,$large}"
  ! wanted halos || bench_of 2 halos 25 "$small${large:+,$large}"
  ! wanted algebra || bench algebra 20 "$small${large:+,$large}"
  ! wanted gauge || bench gauge 25 "$small${large:+,$large}"
  ! wanted trajectory || bench trajectory 30 "$small"
  ! wanted measurements || bench measurements 25 "$small${large:+,$large}"
  ! wanted glass || bench glass 30 "$glass"
  ! wanted multigrid || bench multigrid 30 "$small"
  ! wanted counters || counters 30
  ! wanted memcheck || memcheck 45
  # What is left goes to lattices that fill the GPU.
  ! wanted large_hops || bench hops 130 "$large" "hops, large lattice"
  ! wanted large_solves || bench solves 60 "$large" "solves, large lattice"
  ! wanted multigrid || bench multigrid 30 "$large" "multigrid, large lattice"
  wanted further_hops || return 0
  if [ -n "$further" ] && [ "$(left)" -lt 40 ]; then
    not_run "hops, further lattices" "no time is left for these, which are extra"
  else
    bench hops $(($(left) - 10)) "$further" "hops, further lattices"
  fi
}

host_facts
run_all
write_results
cat "$results/table.md"
echo
echo "$failed_steps steps failed, $late_steps had no time; $SECONDS s; $results/results.json, table.md, log.txt"
[ $((failed_steps + late_steps)) = 0 ]
