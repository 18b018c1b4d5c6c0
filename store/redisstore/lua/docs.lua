-- Functions that the scripts of documents share.
--
-- KEYS of these scripts: 1 values, 2 versions, 3 names in order, 4 names by expiry, for
--   documents with a time to live.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

-- version returns the version of a document, or '0' if there is none, and its remaining
-- time to live in ms, or 0 if it has none.
local function version(name)
  local v = redis.call('HGET', KEYS[2], name)
  local till = v and redis.call('ZSCORE', KEYS[4], name)
  if till and tonumber(till) <= now then return '0', 0 end
  return v or '0', till and till - now or 0
end

local function remove(name)
  redis.call('HDEL', KEYS[1], name)
  redis.call('HDEL', KEYS[2], name)
  redis.call('ZREM', KEYS[3], name)
  redis.call('ZREM', KEYS[4], name)
end
