#!/usr/bin/env bash
# Plays the demo on the cluster that hack/cluster has put into the environment. demo.sh starts it.
#
#   hack/demo/steps.sh         ends the operator at the end
#   hack/demo/steps.sh keep    leaves it running
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

[ -n "${SNAPSCHED_CLUSTER_DIR:-}" ] || { echo "The demo needs a cluster of its own. Start it with: make demo"; exit 1; }
keep="${1:-}"
. hack/demo/operator.sh

# A terminal has colors, and a last line that changes while a step waits.
live=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-}" != dumb ]; then live=1; fi
paint() { if [ "$live" ]; then printf '\033[%sm%s\033[0m' "$1" "$2"; else printf '%s' "$2"; fi; }
bold=1 dim=2 red=31 green=32 cyan=36
progress() { if [ "$live" ]; then printf '\r\033[K'; paint "$dim" "${1:0:78}"; fi; }

titles="$(grep -c '^step ' "${BASH_SOURCE[0]}")"
number=0
# step TITLE begins a step.
step() {
  number=$((number + 1))
  local head="── $number/$titles  $1 "
  while [ "${#head}" -lt 78 ]; do head+="─"; done
  printf '\n%s\n' "$(paint "$bold" "$head")"
}

# run COMMAND... runs shell commands, and prints them and their output.
run() {
  local command
  for command; do
    printf '  %s\n' "$(paint "$cyan" "\$ $command")"
    sh -c "$command" 2>&1 | sed 's/^/  /' || fail "$command"
    echo
  done
}

# fail REASON ends the demo. A signal that made a command fail ends it first.
fail() {
  failure="$1"
  exit 1
}

# look reads namespace demo: what the functions below are about.
look() {
  snapshots="$(kubectl get volumesnapshots -o go-template='{{range .items -}}
    {{index .metadata.annotations "snapshots.mapcontroller.dev/scheduled-at"}} {{.spec.source.persistentVolumeClaimName}} {{/**/ -}}
    {{.metadata.name}} {{.metadata.creationTimestamp}} {{with .status}}{{with .readyToUse}}ready{{end}}{{end}}|{{/**/ -}}
    {{with .metadata.ownerReferences}}owned{{end}}{{"\n"}}{{end}}' | sort)"
  seen="$(printf '%s\n' "$seen" "$(keys)" | sort -u)"
}
keys() { cut -d ' ' -f 1-3 <<<"$snapshots" | sort; }
seen=

# ago SECONDS prints a time in the past as the API server does: such times are compared as text.
ago() { date -u -d "$1 seconds ago" +%FT%TZ 2>/dev/null || date -u -v "-$1S" +%FT%TZ; }

# count CONDITION counts the snapshots for which an awk expression holds.
count() {
  awk -v held="$held" -v since="$since" -v expired="$(ago 30)" 'NF {
    slot = $1; pvc = $2; name = $3; created = $4; ready = $5 ~ "ready"; owned = $5 ~ "owned"
    if ('"$1"') n++
  } END { print n + 0 }' <<<"$snapshots"
}
any() { [ "$(count "$1")" -gt 0 ]; }
none() { [ "$(count "$1")" = 0 ]; }
# ready PVC [N] returns whether a PVC has N ready snapshots, by default one, of slots that are later than since.
ready() { [ "$(count 'ready && slot > since && pvc == "'"$1"'"')" -ge "${2:-1}" ]; }
held=none since=

# deleted prints the slot, the PVC and the name of each snapshot that was seen earlier and is gone.
deleted() { comm -23 <(echo "$seen") <(keys) | sed '/^$/d'; }

# schedule FIELD prints a field of the schedule, and reason the reason of its condition Ready if that is about its present spec.
schedule() { kubectl get snapsched my-app --ignore-not-found -o "jsonpath={$1}"; }
reason() {
  local seen_generation='.status.conditions[?(@.type=="Ready")].observedGeneration' why='.status.conditions[?(@.type=="Ready")].reason'
  [ "$(schedule .metadata.generation)" != "$(schedule "$seen_generation")" ] || schedule "$why"
}

# dots draws the snapshots of each PVC.
dots() {
  awk 'NF { dots[$2] = dots[$2] ($5 ~ "ready" ? "●" : "○") } END { for (p in dots) printf "%s %s  ", p, dots[p] }' <<<"$snapshots"
}

# await WORDS CONDITION waits until a shell condition holds, which the words describe.
await() {
  local start="$SECONDS"
  until look && eval "$2"; do
    progress "$(printf '  %2ds  %suntil %s' $((SECONDS - start)) "$(dots)" "$1")"
    [ $((SECONDS - start)) -lt 90 ] || fail "waiting until $1: not after 90 s"
    [ "$stopped" ] || kill -0 "$operator" 2>/dev/null || fail "the operator ended by itself"
    sleep 0.1 || true
  done
  progress ""
  printf '  %s %s %s\n' "$(paint "$green" ✓)" "$1" "$(paint "$dim" "($((SECONDS - start))s)")"
}

stopped='' failure=''
# The end, also that of a step that fails and of an interruption.
finish() {
  local code=$?
  trap - EXIT
  progress ""
  if [ "$code" = 130 ]; then
    printf '\nInterrupted. The operator and the cluster are stopped and removed.\n'
  elif [ "$code" != 0 ]; then
    printf '\n%s\n' "$(paint "$red" "The demo failed in step $number${failure:+: $failure}.")"
    kubectl get snapsched,volumesnapshots,pvc -o wide || true
    tail -n 15 "$log" || true
  fi
  if [ "$operator" ] && { [ "$code" != 0 ] || [ -z "$keep" ]; }; then kill_operator "$operator"; fi
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

show_snapshots='kubectl get volumesnapshots -o go-template-file=hack/demo/snapshots.tmpl'
show_schedule='kubectl get snapsched -o go-template-file=hack/demo/schedule.tmpl'

step "A cluster, the operator, two volumes"
echo 'The API server, the CSI driver and the operator run on this machine as plain
processes. Lines with $ are real commands.'
run 'kubectl apply -f config/crd/bases' \
  'kubectl wait crd --for=condition=Established --all' \
  'kubectl create namespace demo' \
  'kubectl config set-context --current --namespace=demo'
echo 'One PVC, db, is labeled app=my-app. The other, web, has no label yet.'
start_operator
run 'kubectl apply -f hack/demo/pvcs.yaml' \
  "kubectl wait pvc db web --for=jsonpath='{.status.phase}'=Bound --timeout=90s"

step "One schedule for every PVC labeled app=my-app"
echo 'A snapshot every 5 seconds, kept for 20 seconds (a real schedule says 6h and
10d, or has a cron line). The first one is taken at once.'
run 'cat hack/demo/schedule.yaml' 'kubectl apply -f hack/demo/schedule.yaml'
await "db has its first snapshot, ready to restore from" 'ready db'
run "$show_snapshots"

step "A label is all it takes"
echo 'Label the second PVC, and it has a snapshot at once as well.'
run 'kubectl label pvc web app=my-app'
await "web has its first snapshot" 'ready web'
run 'kubectl snapsched status my-app'

step "Snapshots are taken and expire"
echo 'Now watch: one more for each PVC every 5 seconds, and whatever is older than
20 seconds is deleted.'
await "four snapshots have expired, both PVCs still have three or more" \
  '[ "$(deleted | wc -l)" -ge 4 ] && ready db 3 && ready web 3'
run 'COLUMNS=76 kubectl snapsched timeline my-app'

step "The operator is killed"
echo 'With SIGKILL, and it stays down until a snapshot is overdue.'
stopped=yes
run "kill -9 $operator" 2>/dev/null # bash says there that its job was killed
wait "$operator" 2>/dev/null || true
look
since="$(tail -n 1 <<<"$snapshots" | cut -d ' ' -f 1)"
# The next slot is five seconds later.
await "the next slot has passed, and no snapshot was taken" 'none "slot > since" && [[ "$(ago 6)" > "$since" ]]'
echo 'It is started again. It has no state to lose: from the API server it sees
which slot was missed, and takes it late. A snapshot'\''s name is computed from
schedule, PVC and slot, so no crash can make it take one twice.'
start_operator
stopped=
await "the missed slot has its snapshots" 'ready db && ready web'
run "$show_snapshots"

step "A hold"
echo "One of db's snapshots is needed for an audit. A hold, an annotation, keeps it
however old it gets."
# The second: the oldest might expire before it is annotated.
read -r since _ held _ < <(grep ' db ' <<<"$snapshots" | sed -n 2p)
run "kubectl snapsched hold $held --reason audit"
await "a younger snapshot of db has expired, the held one is there" \
  'any "name == held" && [[ "$(deleted | grep " db " | tail -n 1)" > "$since db" ]]'
run "kubectl snapsched why $held"

step "A mistake deletes nothing"
echo 'A jitter longer than the interval makes no sense. The operator says so and
stops: while a spec is invalid, nothing is taken and nothing is deleted.'
run "kubectl patch snapsched my-app --type=merge -p '{\"spec\":{\"jitter\":\"1h\"}}'"
await "the spec is invalid, and snapshots 10s past their TTL are still there" \
  '[ "$(reason)" = InvalidSpec ] && any "created < expired && name != held"'
run "$show_schedule"
echo 'Fixed, it goes on where it stopped.'
run "kubectl patch snapsched my-app --type=merge -p '{\"spec\":{\"jitter\":null}}'"
await "the spec is valid, and the expired snapshots are deleted" \
  '[ "$(reason)" = Scheduled ] && none "created < expired && name != held"'

step "A snapshot on request"
echo 'Before a risky upgrade: suspend the schedule, and ask for one snapshot of each
PVC now. Old ones still expire, but never the newest that is ready.'
run "kubectl patch snapsched my-app --type=merge -p '{\"spec\":{\"suspend\":true}}'" \
  'kubectl annotate snapsched my-app \
        snapshots.mapcontroller.dev/requested-at=$(date -u +%FT%TZ)'
requested="$(schedule '.metadata.annotations.snapshots\.mapcontroller\.dev/requested-at')"
since="${requested%Z}" # just before it, as text
await "db and web have the snapshot that was requested" 'ready db && ready web'

step "A PVC is deleted"
echo 'By accident. Its snapshots stay, for they are now the only copy. They count as
detached, and this schedule keeps those for an hour.'
run 'kubectl delete pvc web'
await "web is gone, its snapshots are detached" \
  'any "pvc == \"web\"" && [ "$(schedule .status.detached.volumesnapshots)" = "$(count "pvc == \"web\"")" ]'
run "$show_schedule" "$show_snapshots"

step "The schedule is deleted, its snapshots stay"
echo 'Usually they are deleted with the schedule that owns them. The plugin says what
a deletion would take along. With deletionPolicy Orphan it owns them by their
labels alone, and nothing that deletes it takes them along.'
run 'kubectl snapsched preview --delete my-app' \
  "kubectl patch snapsched my-app --type=merge \\
        -p '{\"spec\":{\"deletionPolicy\":\"Orphan\"}}'"
await "no snapshot has an owner any more" '[ "$(reason)" = Suspended ] && none owned'
run 'kubectl delete snapsched my-app'
await "the schedule is gone, its snapshots are there" \
  '[ -z "$(schedule .metadata.name)" ] && any "name == held" && any "pvc == \"web\""'
run "$show_snapshots"
echo 'Created again under its name, the schedule takes them back and goes on.'
run 'kubectl apply -f hack/demo/schedule.yaml'
await "every snapshot has an owner again" 'any owned && none "!owned"'
run "$show_schedule"

step "One object for every namespace"
echo 'A ClusterSnapshotSchedule protects every namespace with a label: one that is
created now, and its two PVCs, need no schedule of their own.'
run 'cat hack/demo/fleet.yaml' 'kubectl apply -f hack/demo/fleet.yaml' \
  'kubectl create namespace shop' 'kubectl label namespace shop backup=gold' \
  'kubectl apply --namespace=shop -f hack/demo/pvcs.yaml' \
  "kubectl wait csnapsched gold --for=jsonpath='{.status.volumeSnapshots.ready}'=2 --timeout=90s" \
  'kubectl get csnapsched' \
  'kubectl get volumesnapshots --namespace=shop -o go-template-file=hack/demo/snapshots.tmpl'
echo 'The whole spec of its SnapshotSchedules is the template'\''s. Whoever weakens one
does so for a moment.'
run "kubectl patch snapsched gold --namespace=shop --type=merge -p '{\"spec\":{\"snapshotTTL\":\"1h\"}}'" \
  "kubectl wait snapsched gold --namespace=shop --for=jsonpath='{.spec.snapshotTTL}'=10d --timeout=90s"
echo 'Without the label, the namespace keeps what it has: its schedule is suspended,
and stays until its last snapshot has expired.'
run 'kubectl label namespace shop backup-' \
  "kubectl wait snapsched gold --namespace=shop --timeout=90s \\
        --for=jsonpath='{.status.conditions[?(@.type==\"Ready\")].reason}'=Suspended" \
  'kubectl get snapsched --namespace=shop -o go-template-file=hack/demo/schedule.tmpl' \
  'kubectl get volumesnapshots --namespace=shop -o go-template-file=hack/demo/snapshots.tmpl'

paint "$green" "All steps came true, in $((SECONDS / 60))m$((SECONDS % 60))s."
echo
