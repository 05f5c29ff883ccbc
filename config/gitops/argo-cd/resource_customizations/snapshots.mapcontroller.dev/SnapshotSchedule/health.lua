local health = {status = "Progressing", message = "waiting for the operator to carry out the latest change"}
if obj.status == nil or obj.status.observedGeneration ~= obj.metadata.generation then
  return health
end
local is = {Protected = {}, RetentionPaused = {}}
for _, condition in ipairs(obj.status.conditions or {}) do
  is[condition.type] = condition
end
if is.Ready == nil then
  return health
end
local outputs = obj.status.outputs or {}
local function unready(snapshots)
  return snapshots ~= nil and (snapshots.total or 0) > (snapshots.ready or 0)
end
local making = unready(obj.status.volumeSnapshots or outputs.volumesnapshots)
    or unready(obj.status.volumeGroupSnapshots or outputs.volumegroupsnapshots)
if is.Ready.status == "False" or is.Protected.status == "False" then
  health.status = "Degraded"
elseif is.Ready.status ~= "True" then
  health.status = "Progressing"
elseif is.Protected.reason == "FirstSnapshotsPending" and making then
  health.status = "Progressing"
elseif is.Ready.reason == "Suspended" then
  health.status = "Suspended"
else
  health.status = "Healthy"
end
health.message = is.Ready.message
if is.Protected.status == "False" or is.Protected.reason == "FirstSnapshotsPending" then
  health.message = health.message .. "; protected: " .. is.Protected.message
end
if is.RetentionPaused.status == "True" then
  health.message = health.message .. "; retention is paused: " .. is.RetentionPaused.reason
end
return health
