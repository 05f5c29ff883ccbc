if obj.spec.template.spec.suspend then
  obj.spec.template.spec.suspend = false
end
return obj
