local actions = {}
if obj.metadata.deletionTimestamp ~= nil then
  return actions
end
if obj.spec.template.spec.suspend then
  actions["resume"] = {displayName = "Resume in all namespaces", iconClass = "fa fa-fw fa-play"}
else
  actions["suspend"] = {displayName = "Suspend in all namespaces", iconClass = "fa fa-fw fa-pause"}
end
local status = obj.status or {}
local reason = nil
for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "Ready" then
    reason = condition.reason
  end
end
if reason ~= "InvalidSpec" then
  actions["snapshot-now"] = {displayName = "Snapshot now in all namespaces", iconClass = "fa fa-fw fa-camera"}
end
-- An edit, which generation 1 is not, may be waiting in any of the namespaces.
local confirmed = (obj.metadata.annotations or {})["snapshots.mapcontroller.dev/confirm-generation"]
if reason ~= "InvalidSpec" and obj.metadata.generation > 1 and status.observedGeneration == obj.metadata.generation
    and confirmed ~= tostring(obj.metadata.generation) then
  actions["confirm"] = {displayName = "Confirm: delete at once, in all namespaces, what the edit deletes", iconClass = "fa fa-fw fa-check"}
end
return actions
