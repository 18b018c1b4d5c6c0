#!lua
-- Applies batches of sessions' owners, each whole or not at all and each for
-- itself.
--
-- KEYS: for each batch meta, log; and of the following those it touches: working
--   of the partition, names, inbox with ids and done, tables and lists.
-- ARGV: 1 number of batches, 2 and 3 bounds of logs, 4 how many consumed commands
--   are remembered, 5 '1' if a second node will be asked for the writes; then
--   for each batch 1 state that must be there, 2 state after it, 3 where the log
--   ends before it, 4 its events * 2^32 + their bytes, 5 number of further
--   arguments; and if that is not 0: 1 card or '', 2 '' or whether it is working
--   ('1' or '0') and the session, 3 number of structures, 4 number of consumed
--   ids, then the names of the structures ('t:' table, 'l:' list), the ids, and
--   the ops: a letter, the number of the structure, and what the op needs.
-- Returns for each batch 1 when applied, more by the number of connections that
--   listen to news of the session, {'STATE', state or ''} if another state is there, {'CORRUPT', key}, or
--   {'INDEX', key} if it is not the session's own key that is broken.
--
-- The entries themselves are added by the XADDs behind this script in the same
-- transaction, see log.lua. What a lease may write is decided by one comparison:
-- owner, epoch, number of the last batch and top of the log are one string, and
-- a quarantined session has another. Everything that could fail is looked at
-- before the first write, because a script that stops half-way is not undone.
-- Several batches share a call because calling costs as much as a small batch.
local maxev, maxby = tonumber(ARGV[2]), tonumber(ARGV[3])
local t = redis.call('TIME')
local now = t[1] .. string.format('%03d', math.floor(t[2] / 1000))

local function wrong(key, want)
  local is = redis.call('TYPE', key).ok
  return is ~= want and is ~= 'none', is == 'none'
end

-- check returns the first key that a batch needs and that is of a wrong type,
-- and the answer to give, or else which of its structures do not exist yet. The
-- keys of names, inbox and the first structure are where it is told.
local function check(k, a, structures, consumed, names, inbox, first)
  if ARGV[a + 6] ~= '' and wrong(KEYS[k + 2], 'zset') then return KEYS[k + 2], 'INDEX' end
  if structures > 0 and wrong(KEYS[names], 'set') then return KEYS[names] end
  if consumed > 0 then
    for i, want in ipairs({'stream', 'hash', 'list'}) do
      if wrong(KEYS[inbox + i - 1], want) then return KEYS[inbox + i - 1] end
    end
  end
  local fresh = {}
  for i = 1, structures do
    local key, bad = KEYS[first + i - 1], nil
    bad, fresh[i] = wrong(key, string.byte(ARGV[a + 8 + i]) == 116 and 'hash' or 'list')
    if bad then return key end
  end
  return nil, fresh
end

local function consume(inbox, ids, done, from, count)
  for i = from, from + count - 1 do
    local pending = redis.call('HGET', ids, ARGV[i])
    local entry = pending and string.match(pending, '^(%d+%-%d+) ')
    if entry then
      redis.call('XDEL', inbox, entry)
      redis.call('HSET', ids, ARGV[i], '-')
      redis.call('RPUSH', done, ARGV[i])
    end
  end
  local over = redis.call('LLEN', done) - ARGV[4]
  if over > 0 then
    for _, id in ipairs(redis.call('LPOP', done, over)) do redis.call('HDEL', ids, id) end
  end
end

local ops = {
  S = function(key, i) redis.call('HSET', key, ARGV[i], ARGV[i + 1]) return 2 end,
  U = function(key, i) redis.call('HDEL', key, ARGV[i]) return 1 end,
  P = function(key, i)
    local n = tonumber(ARGV[i])
    for j = 1, n, 1000 do redis.call('RPUSH', key, unpack(ARGV, i + j, i + math.min(j + 999, n))) end
    return n + 1
  end,
  R = function(key, i)
    local n, at = redis.call('LLEN', key), tonumber(ARGV[i])
    if at >= -n and at < n then redis.call('LSET', key, at, ARGV[i + 1]) end
    return 2
  end,
  K = function(key, i)
    if ARGV[i] == '0' then
      redis.call('UNLINK', key)
    elseif tonumber(ARGV[i]) < redis.call('LLEN', key) then
      redis.call('LTRIM', key, '-' .. ARGV[i], -1)
    end
    return 1
  end,
  F = function(key, i)
    if ARGV[i] == '0' then
      redis.call('UNLINK', key)
    elseif tonumber(ARGV[i]) < redis.call('LLEN', key) then
      redis.call('LTRIM', key, 0, ARGV[i] - 1)
    end
    return 1
  end,
  D = function(key) redis.call('UNLINK', key) return 0 end,
}

-- further applies what a batch has beside events.
local function further(k, a, structures, consumed, names, inbox, first, fresh)
  local meta, card, working = KEYS[k], ARGV[a + 5], ARGV[a + 6]
  if card ~= '' then redis.call('HSET', meta, 'card', card) end
  if working ~= '' then
    local is, session = string.sub(working, 1, 1), string.sub(working, 2)
    redis.call('HSET', meta, 'working', is)
    if is == '1' then
      redis.call('ZADD', KEYS[k + 2], redis.call('HGET', meta, 'until') or 0, session)
    else
      redis.call('ZREM', KEYS[k + 2], session)
    end
  end
  local i, last = a + 9 + structures, a + 4 + ARGV[a + 4]
  if consumed > 0 then consume(KEYS[inbox], KEYS[inbox + 1], KEYS[inbox + 2], i, consumed) end
  i = i + consumed
  while i <= last do i = i + 2 + ops[ARGV[i]](KEYS[first - 1 + ARGV[i + 1]], i + 2) end
  local changed = false
  for j = 1, structures do
    local there = redis.call('EXISTS', KEYS[first + j - 1]) == 1
    if there == fresh[j] then
      redis.call(there and 'SADD' or 'SREM', KEYS[names], ARGV[a + 8 + j])
      changed = true
    end
  end
  if changed then redis.call('HINCRBY', meta, 'names', 1) end
end

-- apply applies the batch whose keys and arguments begin at k and a.
local told, channels = {}, {}
local function apply(number, k, a, structures, consumed, names, inbox, first)
  local meta, log, delta = KEYS[k], KEYS[k + 1], ARGV[a + 3]
  local m = redis.pcall('HMGET', meta, 'state', 'count', 'stop')
  if m.err then return {'CORRUPT', meta} end
  if m[1] ~= ARGV[a] then
    -- A batch that is there already is touched, so that WAIT has something to wait for.
    if m[1] == ARGV[a + 1] and ARGV[5] == '1' then redis.call('HSET', meta, 'state', m[1]) end
    return {'STATE', m[1] or ''}
  end
  local count, stop, set, from, fresh = tonumber(m[2]), tonumber(m[3]), nil, nil, nil
  if not (count and stop) then return {'CORRUPT', meta} end
  if delta ~= '0' then
    count = count + delta
    if count > stop or count % unit > stop % unit then
      set, from = plan(meta, math.floor(delta / unit), delta % unit, ARGV[a + 2], string.match(ARGV[a + 1], '[%d-]+$'),
        maxev, maxby)
      if not set then return {'CORRUPT', meta} end
    end
  end
  if structures then
    local bad
    bad, fresh = check(k, a, structures, consumed, names, inbox, first)
    if bad then return {fresh or 'CORRUPT', bad} end
  end
  if delta ~= '0' and redis.pcall('XSETID', log, ARGV[a + 2]).err then return {'CORRUPT', log} end
  -- Should a change fail although everything was looked at, the state says that
  -- the batch is not there and the log stays locked: a torn batch must not be
  -- taken for a whole one.
  if structures and not pcall(further, k, a, structures, consumed, names, inbox, first, fresh) then
    if delta ~= '0' then redis.call('XSETID', log, locked) end
    return {'CORRUPT', meta}
  end
  redis.call('HSET', meta, 'state', ARGV[a + 1], 'count', count, 'updated', now)
  if set then redis.call('HSET', meta, unpack(set)) end
  if from then redis.call('XTRIM', log, 'MINID', from) end
  if delta ~= '0' then told[#told + 1], channels[#channels + 1] = number, meta end
  return 1
end

local answers, k, a = {}, 1, 6
for i = 1, tonumber(ARGV[1]) do
  if ARGV[a + 4] == '0' then
    answers[i] = apply(i, k, a)
    k, a = k + 2, a + 5
  else
    local structures, consumed = tonumber(ARGV[a + 7]), tonumber(ARGV[a + 8])
    local names = ARGV[a + 6] ~= '' and k + 3 or k + 2
    local inbox = structures > 0 and names + 1 or names
    local first = consumed > 0 and inbox + 3 or inbox
    answers[i] = apply(i, k, a, structures, consumed, names, inbox, first)
    k, a = first + structures, a + 5 + ARGV[a + 4]
  end
end
if #channels > 0 then
  local counts = redis.call('PUBSUB', 'SHARDNUMSUB', unpack(channels))
  for i, number in ipairs(told) do answers[number] = 1 + counts[2 * i] end
end
return answers
