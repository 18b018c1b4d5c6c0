-- Functions about leases that scripts share.
--
-- A session has a lease of its own, which ends at the time until of its meta, or it is kept
-- by the lease that an incarnation of a replica has for all its sessions. The field shared of
-- meta is `<epoch> <incarnation>` then. The epoch must be that of the session: hubs that do
-- not know shared leases claim sessions without changing the field. The shared leases of a
-- partition are a hash: incarnation to the end of its lease in ms.

-- incarnationOf returns the incarnation whose lease keeps a session, or nil.
local function incarnationOf(shared, epoch)
  local of, incarnation = string.match(shared or '', '^(%d+) (%d+)$')
  if of == epoch then return incarnation end
end

-- workingScore returns the score of a session in working: the incarnation whose lease keeps
-- it, or the end of its own lease. Numbers of incarnations are greater than all times.
local function workingScore(state, till, shared)
  return incarnationOf(shared, string.match(state or '', '^%S* (%d+) ')) or tonumber(till) or 0
end
