#!lua flags=allow-oom
-- Notes objects that are not referenced, before they are written or when they are not needed any
-- more, so that they are removed if the process is killed.
--
-- KEYS: 1 objects of the partition.
-- ARGV: session and name of each object.
local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
for _, object in ipairs(ARGV) do redis.call('ZADD', KEYS[1], 'NX', now, object) end
return 1
