#!lua flags=allow-oom
-- Says that lists are whole again, unless more was put away meanwhile.
--
-- KEYS: 1 mending of the partition.
-- ARGV: 1 what it said before the lists were made.
-- Returns 1.
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
