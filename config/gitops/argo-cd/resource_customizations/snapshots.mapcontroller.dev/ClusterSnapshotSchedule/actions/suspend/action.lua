obj.spec.template.spec.suspend = true
return obj
