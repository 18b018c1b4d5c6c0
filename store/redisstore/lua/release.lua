#!lua flags=allow-oom
-- Ends a lease: publishes that the session has no owner, and reserves it for an heir if there
-- is one. Followers of a reserved session learn by a claim how long they have to wait.
--
-- KEYS: 1 meta, 2 working of the partition.
-- ARGV: 1 session, 2 replica, 3 epoch, 4 heir or '', 5 time to live in ms.
-- Returns 1, or {'FENCED'}.
local state = redis.call('HGET', KEYS[1], 'state')
local mark, owner, epoch, rest = string.match(state or '', '^(!?)(%S*) (%d+)( %d+ %S+)$')
if owner ~= ARGV[2] or epoch ~= ARGV[3] then return {'FENCED'} end
if ARGV[4] ~= '' then
  local t = redis.call('TIME')
  local till = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000) + ARGV[5])
  redis.call('HSET', KEYS[1], 'state', mark .. ARGV[4] .. ' ' .. epoch .. rest, 'until', till, 'shared', '')
  redis.pcall('ZADD', KEYS[2], 'XX', till, ARGV[1])
else
  redis.call('HSET', KEYS[1], 'state', mark .. ' ' .. epoch .. rest, 'until', '0', 'shared', '')
  redis.pcall('ZADD', KEYS[2], 'XX', 0, ARGV[1])
end
redis.call('SPUBLISH', KEYS[1], 'v ' .. string.match(rest, '%S+$') .. '\n')
return 1
