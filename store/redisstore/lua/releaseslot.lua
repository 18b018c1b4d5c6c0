#!lua flags=allow-oom
-- Gives a slot back, or a place in the queue for one, and the slot to the next.
--
-- KEYS: see slots.lua.
-- ARGV: 1 holder.
-- Returns 1.
expire()
for i = 1, 3 do redis.call('ZREM', KEYS[i], ARGV[1]) end
forget(ARGV[1])
grant()
keep(0)
return 1
