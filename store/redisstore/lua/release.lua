#!lua flags=allow-oom
-- Gives a lease back and tells everybody who follows the session.
--
-- KEYS: 1 meta, 2 working of the partition.
-- ARGV: 1 session, 2 replica, 3 epoch.
-- Returns 1, or {'FENCED'}.
local state = redis.call('HGET', KEYS[1], 'state')
local mark, owner, epoch, rest = string.match(state or '', '^(!?)(%S*) (%d+)( %d+ %S+)$')
if owner ~= ARGV[2] or epoch ~= ARGV[3] then return {'FENCED'} end
redis.call('HSET', KEYS[1], 'state', mark .. ' ' .. epoch .. rest, 'until', '0')
redis.pcall('ZADD', KEYS[2], 'XX', 0, ARGV[1])
redis.call('SPUBLISH', KEYS[1], 'v ' .. string.match(rest, '%S+$') .. '\n')
return 1
