#!lua flags=allow-oom
-- Replaces the content of a session by its pack, which is smaller, and ends the lease.
--
-- KEYS: 1 meta, 2 pack, 3 working of the partition, 4 inbox, 5... all other keys of the
--   session.
-- ARGV: 1 session, 2 state of the session when its content was read, 3 pack.
-- Returns 1, or {'CHANGED'} if the session has changed since or has commands in its inbox.
local state = redis.call('HGET', KEYS[1], 'state')
if state ~= ARGV[2] or redis.call('XLEN', KEYS[4]) > 0 then return {'CHANGED'} end
local rest = string.match(state, '^%S*( %d+ %d+ %S+)$')
if not rest then return {'CHANGED'} end
redis.call('SET', KEYS[2], ARGV[3])
for i = 4, #KEYS do redis.call('UNLINK', KEYS[i]) end
redis.call('HSET', KEYS[1], 'packed', '1', 'state', rest, 'until', '0', 'shared', '')
redis.pcall('ZADD', KEYS[3], 'XX', 0, ARGV[1])
redis.call('SPUBLISH', KEYS[1], 'v ' .. string.match(rest, '%S+$') .. '\n')
return 1
