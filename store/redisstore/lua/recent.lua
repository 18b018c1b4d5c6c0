-- Functions of the scripts that list sessions by last change.
--
-- Two sorted sets of a partition hold its sessions by the second of their last change:
-- `recent` all of them, `recent:<user>` those of a user. A script derives their keys from
-- the key of meta, because only meta names the user; they are in the same slot. A set of a
-- wrong type must not keep a session from being used, so errors are ignored here: reading
-- the set finds them.

-- recentSets returns the keys of the two sets and the session.
local function recentSets(meta, user)
  local tag, session = string.match(meta, '^(.-{p%d+}:)s:(.+):meta$')
  return tag .. 'recent', tag .. 'recent:' .. user, session
end

-- listRecent lists a session with the last change at a time in ms.
local function listRecent(meta, user, ms)
  if not user then return end
  local all, mine, session = recentSets(meta, user)
  local second = string.format('%.0f', math.floor(ms / 1000))
  redis.pcall('ZADD', all, second, session)
  redis.pcall('ZADD', mine, second, session)
end

-- changeUser makes a session that changed at a time in ms belong to another user, and moves it from the
-- lists of the one to those of the other.
local function changeUser(meta, user, ms)
  local was = redis.call('HGET', meta, 'user')
  if was == user then return end
  local tag, session = string.match(meta, '^(.-{p%d+}:)s:(.+):meta$')
  redis.call('HSET', meta, 'user', user)
  redis.pcall('ZADD', tag .. 'user:' .. user, 0, session)
  if was then
    redis.pcall('ZREM', tag .. 'user:' .. was, session)
    redis.pcall('ZREM', tag .. 'recent:' .. was, session)
  end
  listRecent(meta, user, ms)
end

-- unlistRecent removes a session from the sets.
local function unlistRecent(meta, user)
  local all, mine, session = recentSets(meta, user)
  redis.pcall('ZREM', all, session)
  redis.pcall('ZREM', mine, session)
end
