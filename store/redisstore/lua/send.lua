#!lua
-- Adds a command to the inbox of a session, unless it is a duplicate.
--
-- KEYS: 1 meta, 2 inbox, 3 ids, 4 quarantine of the partition.
-- ARGV: 1 session, 2 id of the command, 3 digest of its data, 4 its sealed data,
--   5 maximum number of commands in the inbox.
-- Returns 1 for a new command, {'DUP'} for one that is in the inbox or was consumed
--   recently, or a refusal: {'CONFLICT'}, {'FULL'}, {'QUARANTINED', reason},
--   {'NOTFOUND'}, {'INDEX', key}.
local reason = redis.pcall('HGET', KEYS[4], ARGV[1])
if type(reason) == 'table' then return {'INDEX', KEYS[4]} end
if reason then return {'QUARANTINED', reason} end
local state = redis.call('HGET', KEYS[1], 'state')
if not state then return {'NOTFOUND'} end
if string.sub(state, 1, 1) == '!' then return {'QUARANTINED'} end
local known = redis.call('HGET', KEYS[3], ARGV[2])
if known then
  local digest = string.match(known, ' (%x+)$')
  if digest and digest ~= ARGV[3] then return {'CONFLICT'} end
  return {'DUP'}
end
if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[5]) then return {'FULL'} end
local entry = redis.call('XADD', KEYS[2], '*', 'id', ARGV[2], 'd', ARGV[4])
redis.call('HSET', KEYS[3], ARGV[2], entry .. ' ' .. ARGV[3])
redis.call('SPUBLISH', KEYS[1], 'w\n')
return 1
