#!lua
-- Applies batches of several owners. Each batch is applied completely or not at all,
-- independently of the others.
--
-- KEYS: for each batch meta, log, and those of the following keys that it touches:
--   working of the partition; names; inbox, ids and done; tables and lists.
-- ARGV: 1 number of batches, 2 and 3 bounds of the logs in events and bytes, 4 number
--   of consumed commands whose ids are kept, 5 '1' for durable batches, which WAIT may
--   follow; then for each batch 1 expected state, 2 state after the batch, 3 end of the
--   log before it, 4 its events * 2^32 + their bytes, 5 number of further arguments.
--   If there are further arguments: 1 card or '', 2 '' or the working flag ('1' or '0') followed
--   by the session, 3 number of structures, 4 number of consumed ids, then the names
--   of the structures ('t:' table, 'l:' list), the ids, and the ops: a letter, the
--   number of the structure, and the op's own arguments. A new user is the op O; its
--   number is that of the key of meta, which is negative.
-- Returns for each batch: 1 + the number of subscribers of the session's channel if
--   it was applied (1 for a batch without events), {'STATE', state or ''} if the
--   session is in another state, {'CORRUPT', key}, or {'INDEX', key} if the broken
--   key is shared with other sessions.
--
-- The XADD commands that follow this script in the same transaction add the entries;
-- see log.lua. One comparison decides what a lease may write: owner, epoch, number of
-- the last batch and end of the log are one string, which is different while the
-- session is quarantined. The script checks everything that could fail before its
-- first write, because Redis does not undo a script that fails halfway. Batches share
-- a call because a call costs as much as a small batch.
local maxev, maxby = tonumber(ARGV[2]), tonumber(ARGV[3])
local t = redis.call('TIME')
local now = t[1] .. string.format('%03d', math.floor(t[2] / 1000))
local second = tonumber(t[1])

-- hasWrongType returns whether a key has another type than want, and whether it does
-- not exist.
local function hasWrongType(key, want)
  local is = redis.call('TYPE', key).ok
  return is ~= want and is ~= 'none', is == 'none'
end

-- check returns the first key of a batch that has a wrong type, with the word of the
-- refusal if it is not CORRUPT; or nil and, for each structure, whether it does not
-- exist yet. names, inbox and first are the indexes of the keys of the names, the
-- inbox and the first structure.
local function check(k, a, structures, consumed, names, inbox, first)
  if ARGV[a + 6] ~= '' and hasWrongType(KEYS[k + 2], 'zset') then return KEYS[k + 2], 'INDEX' end
  if structures > 0 and hasWrongType(KEYS[names], 'set') then return KEYS[names] end
  if consumed > 0 then
    for i, want in ipairs({'stream', 'hash', 'list'}) do
      if hasWrongType(KEYS[inbox + i - 1], want) then return KEYS[inbox + i - 1] end
    end
  end
  local fresh = {}
  for i = 1, structures do
    local key, bad = KEYS[first + i - 1], nil
    bad, fresh[i] = hasWrongType(key, string.byte(ARGV[a + 8 + i]) == 116 and 'hash' or 'list')
    if bad then return key end
  end
  return nil, fresh
end

-- consume removes the commands with the ids ARGV[from...] from the inbox and keeps their
-- ids, at most ARGV[4] of them.
local function consume(inbox, ids, done, from, count)
  local pending = redis.call('HMGET', ids, unpack(ARGV, from, from + count - 1))
  local entries, gone, marks, known = {}, {}, {}, {}
  for i, found in ipairs(pending) do
    local id = ARGV[from + i - 1]
    local entry = found and string.match(found, '^(%d+%-%d+) ')
    if entry and not known[id] then
      known[id] = true
      entries[#entries + 1], gone[#gone + 1] = entry, id
      marks[#marks + 1], marks[#marks + 2] = id, '-'
    end
  end
  if #entries > 0 then
    redis.call('XDEL', inbox, unpack(entries))
    redis.call('HSET', ids, unpack(marks))
    redis.call('RPUSH', done, unpack(gone))
  end
  local over = redis.call('LLEN', done) - ARGV[4]
  if over > 0 then
    for _, id in ipairs(redis.call('LPOP', done, over)) do redis.call('HDEL', ids, id) end
  end
end

-- ops applies an op to a structure. The arguments of the op begin at i; each function
-- returns their number.
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
  O = function(meta, i) changeUser(meta, ARGV[i], now) return 1 end,
}

-- applyChanges applies everything of a batch except its events.
local function applyChanges(k, a, structures, consumed, names, inbox, first, fresh)
  local meta, card, working = KEYS[k], ARGV[a + 5], ARGV[a + 6]
  if card ~= '' then redis.call('HSET', meta, 'card', card) end
  if working ~= '' then
    local is, session = string.sub(working, 1, 1), string.sub(working, 2)
    redis.call('HSET', meta, 'working', is)
    if is == '1' then
      redis.call('ZADD', KEYS[k + 2], workingScore(unpack(redis.call('HMGET', meta, 'state', 'until', 'shared'))), session)
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

-- The numbers and channels of the applied batches that have events.
local applied, channels = {}, {}

-- apply applies the batch whose keys and arguments begin at k and a.
local function apply(number, k, a, structures, consumed, names, inbox, first)
  local meta, log, delta = KEYS[k], KEYS[k + 1], ARGV[a + 3]
  local m = redis.pcall('HMGET', meta, 'state', 'count', 'stop', 'updated')
  if m.err then return {'CORRUPT', meta} end
  if m[1] ~= ARGV[a] then
    -- A batch that was applied before is written again, so that WAIT covers it.
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
  -- If a change fails in spite of the checks, the state does not include the batch and
  -- the log stays locked: a partial batch must not count as applied.
  if structures and not pcall(applyChanges, k, a, structures, consumed, names, inbox, first, fresh) then
    if delta ~= '0' then redis.call('XSETID', log, locked) end
    return {'CORRUPT', meta}
  end
  redis.call('HSET', meta, 'state', ARGV[a + 1], 'count', count, 'updated', now)
  if math.floor((tonumber(m[4]) or 0) / 1000) ~= second then listRecent(meta, redis.call('HGET', meta, 'user'), now) end
  if set then redis.call('HSET', meta, unpack(set)) end
  if from then redis.call('XTRIM', log, 'MINID', from) end
  if delta ~= '0' then applied[#applied + 1], channels[#channels + 1] = number, meta end
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
  for i, number in ipairs(applied) do answers[number] = 1 + counts[2 * i] end
end
return answers
