#!lua flags=allow-oom
-- Sets a session aside or, without a reason, takes it back.
--
-- KEYS: 1 meta, 2 quarantine, 3 working of the partition.
-- ARGV: 1 session, 2 reason or '', 3 '1' to keep the reason that is there.
-- Returns 1, or {'NOTFOUND'}, {'INDEX', key}.
--
-- The mark is in the partition's hash, where also a session can have it whose
-- own key is of a wrong type, and as a '!' in meta's state, where a commit finds
-- it without looking for it, and where it stays should the hash be lost. A session that is set aside is not waiting for an
-- owner.
if redis.call('EXISTS', KEYS[1]) == 0 then return {'NOTFOUND'} end
local m = redis.pcall('HMGET', KEYS[1], 'state', 'working', 'until')
local state = not m.err and m[1] and string.gsub(m[1], '^!', '')
if ARGV[2] ~= '' then
  local set = redis.pcall(ARGV[3] == '1' and 'HSETNX' or 'HSET', KEYS[2], ARGV[1], ARGV[2])
  if type(set) == 'table' then return {'INDEX', KEYS[2]} end
  redis.pcall('ZREM', KEYS[3], ARGV[1])
  if state then redis.call('HSET', KEYS[1], 'state', '!' .. state) end
else
  if type(redis.pcall('HDEL', KEYS[2], ARGV[1])) == 'table' then return {'INDEX', KEYS[2]} end
  if state then redis.call('HSET', KEYS[1], 'state', state) end
  if state and m[2] == '1' then redis.pcall('ZADD', KEYS[3], m[3] or 0, ARGV[1]) end
end
return 1
