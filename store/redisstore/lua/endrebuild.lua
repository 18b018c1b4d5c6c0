#!lua flags=allow-oom
-- Removes the rebuild mark of a partition, unless it was set again meanwhile.
--
-- KEYS: 1 rebuild mark.
-- ARGV: 1 value of the mark before the rebuild.
-- Returns 1.
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
