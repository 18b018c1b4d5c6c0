#!lua flags=no-writes
-- Lists sessions of a partition that have unfinished work and no live lease.
--
-- KEYS: 1 working, 2 rebuild mark of the partition.
-- ARGV: 1 number of sessions.
-- Returns '1' if a rebuild is pending, so that sessions may be missing, else '0'; then
--   the sessions.
local t = redis.call('TIME')
local now = t[1] .. string.format('%03d', math.floor(t[2] / 1000))
local answer = redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[1])
table.insert(answer, 1, tostring(redis.call('EXISTS', KEYS[2])))
return answer
