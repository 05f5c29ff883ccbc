# What the demo and 'make try' share: the operator as a process, on the cluster that hack/cluster has put into the environment.

log="$SNAPSCHED_CLUSTER_DIR/logs/operator.log"
# The user's preferences and discovery cache must not change what kubectl prints.
export KUBERC=off KUBECACHEDIR="$SNAPSCHED_CLUSTER_DIR/kubectl-cache"
operator=''

# The operator is a process of this machine. A watchdog ends it if this script is killed.
start_operator() {
  nohup bin/manager --health-probe-bind-address=0 --status-interval=1s </dev/null >>"$log" 2>&1 &
  operator=$!
  echo "$operator" >"$SNAPSCHED_CLUSTER_DIR/operator.pid" # demo.sh stops an operator that was kept
  [ "$keep" ] || (
    trap '' INT TERM HUP
    while kill -0 $$ && kill -0 "$operator"; do sleep 1; done
    kill -KILL "$operator"
  ) >/dev/null 2>&1 &
}

kill_operator() {
  kill -KILL "$1" 2>/dev/null || true
  wait "$1" 2>/dev/null || true
}
