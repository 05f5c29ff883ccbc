local os = require("os")
local cluster = ((obj.status or {}).retention or {}).clusterSchedule
for _, owner in ipairs(obj.metadata.ownerReferences or {}) do
  if owner.kind == "ClusterSnapshotSchedule" then
    cluster = owner.name
  end
end
if cluster ~= nil then
  error("a ClusterSnapshotSchedule decides about this SnapshotSchedule: run the action there", 0)
end
for _, condition in ipairs((obj.status or {}).conditions or {}) do
  if condition.type == "Ready" and condition.reason == "InvalidSpec" then
    error("no snapshot is taken while the spec is invalid: " .. condition.message, 0)
  end
end
obj.metadata.annotations = obj.metadata.annotations or {}
obj.metadata.annotations["snapshots.mapcontroller.dev/requested-at"] = os.date("!%Y-%m-%dT%H:%M:%SZ")
return obj
