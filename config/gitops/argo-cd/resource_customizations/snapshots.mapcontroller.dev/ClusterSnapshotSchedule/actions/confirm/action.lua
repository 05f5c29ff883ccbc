if (obj.status or {}).observedGeneration ~= obj.metadata.generation or obj.metadata.generation == 1 then
  error("no edit waits for a confirmation of generation " .. tostring(obj.metadata.generation), 0)
end
for _, condition in ipairs(obj.status.conditions or {}) do
  if condition.type == "Ready" and condition.reason == "InvalidSpec" then
    error("nothing is deleted while the spec is invalid: " .. condition.message, 0)
  end
end
obj.metadata.annotations = obj.metadata.annotations or {}
obj.metadata.annotations["snapshots.mapcontroller.dev/confirm-generation"] = tostring(obj.metadata.generation)
return obj
