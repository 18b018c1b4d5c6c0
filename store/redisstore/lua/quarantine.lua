#!lua flags=allow-oom
-- Quarantines a session or, without a reason, lifts its quarantine.
--
-- KEYS: 1 meta, 2 quarantine, 3 working of the partition, 4 inbox, the channel that wakes the
--   owner.
-- ARGV: 1 session, 2 reason or '', 3 '1' to keep a reason that is already stored.
-- Returns 1, or {'NOTFOUND'}, {'INDEX', key}.
--
-- The quarantine is stored twice: in the hash of the partition, so that a session
-- whose meta has a wrong type can be quarantined, and as a '!' before the state in
-- meta, where a commit notices it without another read and where it survives the loss
-- of the hash. A quarantined session is not listed in working.
if redis.call('EXISTS', KEYS[1]) == 0 then return {'NOTFOUND'} end
local m = redis.pcall('HMGET', KEYS[1], 'state', 'working', 'until', 'shared')
local state = not m.err and m[1] and string.gsub(m[1], '^!', '')
if ARGV[2] ~= '' then
  local set = redis.pcall(ARGV[3] == '1' and 'HSETNX' or 'HSET', KEYS[2], ARGV[1], ARGV[2])
  if type(set) == 'table' then return {'INDEX', KEYS[2]} end
  redis.pcall('ZREM', KEYS[3], ARGV[1])
  if state then redis.call('HSET', KEYS[1], 'state', '!' .. state) end
  redis.call('SPUBLISH', KEYS[4], '') -- an idle owner learns of it when it reads its inbox
else
  if type(redis.pcall('HDEL', KEYS[2], ARGV[1])) == 'table' then return {'INDEX', KEYS[2]} end
  if state then redis.call('HSET', KEYS[1], 'state', state) end
  if state and m[2] == '1' then redis.pcall('ZADD', KEYS[3], workingScore(state, m[3], m[4]), ARGV[1]) end
end
return 1
