#!lua
-- Lists a replica as alive and removes the replicas that have expired.
--
-- KEYS: 1 replicas by expiry, 2 their cards.
-- ARGV: 1 replica, 2 card, 3 time to live in ms.
-- Returns 1.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE')) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('HDEL', KEYS[2], id)
end
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return 1
