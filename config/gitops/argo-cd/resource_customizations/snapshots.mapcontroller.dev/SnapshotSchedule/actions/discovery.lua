local actions = {}
if obj.metadata.deletionTimestamp ~= nil then
  return actions
end
-- The operator reverts or ignores what is changed in a SnapshotSchedule of a ClusterSnapshotSchedule.
local cluster = ((obj.status or {}).retention or {}).clusterSchedule
for _, owner in ipairs(obj.metadata.ownerReferences or {}) do
  if owner.kind == "ClusterSnapshotSchedule" then
    cluster = owner.name
  end
end
if cluster ~= nil then
  return actions
end
if obj.spec.suspend then
  actions["resume"] = {displayName = "Resume", iconClass = "fa fa-fw fa-play"}
else
  actions["suspend"] = {displayName = "Suspend", iconClass = "fa fa-fw fa-pause"}
end
local status = obj.status or {}
local is = {Ready = {}, RetentionPaused = {}}
for _, condition in ipairs(status.conditions or {}) do
  is[condition.type] = condition
end
if is.Ready.reason ~= "InvalidSpec" then
  actions["snapshot-now"] = {displayName = "Snapshot now", iconClass = "fa fa-fw fa-camera"}
end
local paused = is.RetentionPaused
if status.observedGeneration == obj.metadata.generation and paused.status == "True"
    and (paused.reason == "SpecChanged" or paused.reason == "SnapshotsAdopted") then
  actions["confirm"] = {displayName = "Confirm: delete at once what is kept for now", iconClass = "fa fa-fw fa-check"}
end
return actions
