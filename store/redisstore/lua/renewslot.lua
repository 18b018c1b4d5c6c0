#!lua flags=allow-oom
-- Extends a slot.
--
-- KEYS: see slots.lua.
-- ARGV: 1 holder, 2 time to live in ms.
-- Returns 1, or {'FENCED'}.
expire()
grant()
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return {'FENCED'} end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('HSET', KEYS[4], 't:' .. ARGV[1], ARGV[2])
extendKeys(tonumber(ARGV[2]))
return 1
