local os = require("os")
for _, condition in ipairs((obj.status or {}).conditions or {}) do
  if condition.type == "Ready" and condition.reason == "InvalidSpec" then
    error("no snapshot is taken while the spec is invalid: " .. condition.message, 0)
  end
end
obj.metadata.annotations = obj.metadata.annotations or {}
obj.metadata.annotations["snapshots.mapcontroller.dev/requested-at"] = os.date("!%Y-%m-%dT%H:%M:%SZ")
return obj
