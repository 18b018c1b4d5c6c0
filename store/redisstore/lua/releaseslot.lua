#!lua flags=allow-oom
-- Releases a slot, or cancels a waiting request, and grants free slots to waiters.
--
-- KEYS: see slots.lua.
-- ARGV: 1 holder.
-- Returns 1.
expire()
for i = 1, 3 do redis.call('ZREM', KEYS[i], ARGV[1]) end
removeFacts(ARGV[1])
grant()
extendKeys(0)
return 1
