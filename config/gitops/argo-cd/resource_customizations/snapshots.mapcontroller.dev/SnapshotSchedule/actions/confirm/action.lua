local cluster = ((obj.status or {}).retention or {}).clusterSchedule
for _, owner in ipairs(obj.metadata.ownerReferences or {}) do
  if owner.kind == "ClusterSnapshotSchedule" then
    cluster = owner.name
  end
end
if cluster ~= nil then
  error("a ClusterSnapshotSchedule decides about this SnapshotSchedule: run the action there", 0)
end
local waits = false
for _, condition in ipairs((obj.status or {}).conditions or {}) do
  if condition.type == "RetentionPaused" and condition.status == "True" then
    waits = condition.reason == "SpecChanged" or condition.reason == "SnapshotsAdopted"
  end
end
if not waits or obj.status.observedGeneration ~= obj.metadata.generation then
  error("nothing waits for a confirmation of generation " .. tostring(obj.metadata.generation), 0)
end
obj.metadata.annotations = obj.metadata.annotations or {}
obj.metadata.annotations["snapshots.mapcontroller.dev/confirm-generation"] = tostring(obj.metadata.generation)
return obj
