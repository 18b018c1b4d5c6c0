#!lua flags=allow-oom
-- Replaces the pack of a session by the reference to an object that holds it.
--
-- KEYS: 1 meta, 2 pack, 3 objects of the partition.
-- ARGV: 1 SHA-1 of the pack, 2 reference, 3 session and name of the object.
-- Returns 1, or {'CHANGED'} if the session has another pack, none or is quarantined, or if the
--   object may have been removed.
--
-- An object that is referenced is not among the objects of the partition: those may be removed.
local m = redis.call('HMGET', KEYS[1], 'state', 'packed')
if not m[1] or string.sub(m[1], 1, 1) == '!' or not m[2] then return {'CHANGED'} end
local pack = redis.call('GET', KEYS[2])
if not pack or redis.sha1hex(pack) ~= ARGV[1] then return {'CHANGED'} end
if tonumber(redis.call('ZSCORE', KEYS[3], ARGV[3]) or 0) <= 0 then return {'CHANGED'} end
redis.call('SET', KEYS[2], ARGV[2])
redis.call('HSET', KEYS[1], 'cooled', '1')
redis.call('ZREM', KEYS[3], ARGV[3])
return 1
