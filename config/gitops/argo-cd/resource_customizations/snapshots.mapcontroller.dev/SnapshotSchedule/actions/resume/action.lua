local cluster = ((obj.status or {}).retention or {}).clusterSchedule
for _, owner in ipairs(obj.metadata.ownerReferences or {}) do
  if owner.kind == "ClusterSnapshotSchedule" then
    cluster = owner.name
  end
end
if cluster ~= nil then
  error("a ClusterSnapshotSchedule decides about this SnapshotSchedule: run the action there", 0)
end
if obj.spec.suspend then
  obj.spec.suspend = false
end
return obj
