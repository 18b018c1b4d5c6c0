#!lua flags=allow-oom
-- Returns the id of the storage that has the cold sessions. Unless one is recorded, it records the given id.
--
-- KEYS: 1 storage.
-- ARGV: 1 id, or an empty string to record nothing.
if ARGV[1] ~= '' then redis.call('SET', KEYS[1], ARGV[1], 'NX') end
return {'OK', redis.call('GET', KEYS[1]) or ''}
