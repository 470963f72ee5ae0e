-- How Argo CD reads the health of our kinds: from the conditions that kstatus knows, and never from those of an older
-- generation of the spec.
local hs = {}

if obj.metadata.deletionTimestamp ~= nil then
  hs.status = "Progressing"
  hs.message = "Being deleted"
  return hs
end

local status = obj.status or {}
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end

-- A pause until a time is over when the operator says so: no clock is asked here. A time begins with a digit, which is
-- compared, because Argo CD's Lua has no string library.
local paused = (obj.metadata.annotations or {})["compute-operator.dev/paused"] or "false"
local ends = paused >= "0" and paused < ":"
local shown = (conditions["Ready"] or conditions["Expired"] or {}).reason == "Paused"
local may = obj.kind == "Compute" or obj.kind == "Branch"
if may and paused ~= "false" and (shown or not ends) then
  hs.status = "Suspended"
  hs.message = "Paused: nothing is sent to the service"
  return hs
end

if status.observedGeneration ~= obj.metadata.generation then
  hs.status = "Progressing"
  hs.message = "Waiting for the operator to reconcile generation " .. tostring(obj.metadata.generation)
  return hs
end

local function is(type)
  return conditions[type] ~= nil and conditions[type].status == "True"
end

-- An end that was declared is no failure, and leaves no condition Ready.
local ready = conditions["Ready"]
if is("Expired") then
  hs.status = "Healthy"
  hs.message = conditions["Expired"].message
  return hs
end
if ready == nil then
  hs.status = "Progressing"
  hs.message = "Waiting for the operator's first report"
  return hs
end

if is("Stalled") then
  hs.status = "Degraded"
elseif ready.status == "True" and not is("Reconciling") then
  hs.status = "Healthy"
else
  hs.status = "Progressing"
end
hs.message = ready.reason .. ": " .. ready.message
return hs
