#!lua flags=allow-oom
-- Extends a lease that is the session's own.
--
-- KEYS: 1 meta, 2 working of the partition.
-- ARGV: 1 session, 2 replica, 3 epoch, 4 time to live in ms.
-- Returns 1, or {'FENCED'}.
--
-- Redis executes it also when its memory is full: it needs none, and owners that cannot
-- write should at least keep their sessions.
local state = redis.call('HGET', KEYS[1], 'state')
local owner, epoch = string.match(state or '', '^!?(%S*) (%d+) ')
if owner ~= ARGV[2] or epoch ~= ARGV[3] then return {'FENCED'} end
local t = redis.call('TIME')
local till = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000) + ARGV[4])
redis.call('HSET', KEYS[1], 'until', till)
redis.pcall('ZADD', KEYS[2], 'XX', till, ARGV[1])
return 1
