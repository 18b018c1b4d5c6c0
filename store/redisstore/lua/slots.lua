-- Functions that the scripts of semaphores share.
--
-- KEYS of these scripts: 1 holders by expiry of their slots, 2 waiters by ticket,
--   3 waiters by expiry, 4 facts: 'k:<name>' is the key and 't:<name>' the time to
--   live of a holder or waiter, 'ticket' the last ticket issued, 'limit' the newest
--   limit.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

-- removeFacts removes the facts about a holder or waiter.
local function removeFacts(name) redis.call('HDEL', KEYS[4], 'k:' .. name, 't:' .. name) end

-- expire removes holders that did not renew their slot and waiters that did not call again.
local function expire()
  for _, name in ipairs(redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE')) do
    redis.call('ZREM', KEYS[1], name)
    removeFacts(name)
  end
  for _, name in ipairs(redis.call('ZRANGE', KEYS[3], '-inf', now, 'BYSCORE')) do
    redis.call('ZREM', KEYS[2], name)
    redis.call('ZREM', KEYS[3], name)
    removeFacts(name)
  end
end

-- grant grants free slots to waiters: to the key that holds the fewest slots, and among
-- its waiters to the oldest ticket. It publishes the grant. The slot expires after 5 s
-- unless the waiter calls again, because the waiter may be gone.
local function grant()
  local free = (tonumber(redis.call('HGET', KEYS[4], 'limit')) or 0) - redis.call('ZCARD', KEYS[1])
  local waiters = free > 0 and redis.call('ZRANGE', KEYS[2], 0, -1) or {}
  if #waiters == 0 then return end
  local held, keys = {}, {}
  for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    local key = redis.call('HGET', KEYS[4], 'k:' .. name) or ''
    held[key] = (held[key] or 0) + 1
  end
  for i, name in ipairs(waiters) do keys[i] = redis.call('HGET', KEYS[4], 'k:' .. name) or '' end
  for _ = 1, math.min(free, #waiters) do
    local best
    for i = 1, #waiters do
      if waiters[i] and (not best or (held[keys[i]] or 0) < (held[keys[best]] or 0)) then best = i end
    end
    local name = waiters[best]
    waiters[best] = false
    held[keys[best]] = (held[keys[best]] or 0) + 1
    redis.call('ZREM', KEYS[2], name)
    redis.call('ZREM', KEYS[3], name)
    redis.call('ZADD', KEYS[1], now + math.min(redis.call('HGET', KEYS[4], 't:' .. name) or 0, 5000), name)
    redis.call('SPUBLISH', KEYS[1], name)
  end
end

-- extendKeys makes the keys live 30 to 60 s longer than a slot of that many ms. Redis
-- removes the keys of unused semaphores then.
local function extendKeys(ms)
  for i = 1, 4 do
    if redis.call('PTTL', KEYS[i]) < ms + 30000 then redis.call('PEXPIRE', KEYS[i], ms + 60000) end
  end
end
