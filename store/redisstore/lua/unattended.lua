#!lua flags=no-writes
-- Lists working sessions of a partition that nobody holds a lease of.
--
-- KEYS: 1 working, 2 mending of the partition.
-- ARGV: 1 how many.
-- Returns '1' if not all of them may be listed, else '0', and the sessions.
local t = redis.call('TIME')
local now = t[1] .. string.format('%03d', math.floor(t[2] / 1000))
local answer = redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[1])
table.insert(answer, 1, tostring(redis.call('EXISTS', KEYS[2])))
return answer
