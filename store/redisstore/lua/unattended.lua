#!lua flags=no-writes
-- Lists working sessions of a partition that nobody holds a lease of.
--
-- KEYS: 1 working of the partition.
-- ARGV: 1 how many.
-- Returns the sessions.
local t = redis.call('TIME')
local now = t[1] .. string.format('%03d', math.floor(t[2] / 1000))
return redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[1])
