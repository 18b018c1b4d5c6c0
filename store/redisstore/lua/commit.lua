#!lua
-- Applies batches of sessions' owners, each whole or not at all and each for
-- itself.
--
-- KEYS: for each batch 1 meta, 2 log, 3 marks, 4 quarantine of the partition; and
--   if it has more than events: 5 working of the partition, 6 names, 7 inbox,
--   8 ids, 9 done, 10... the tables and lists it touches.
-- ARGV: 1 number of batches, 2 and 3 bounds of logs, 4 how many consumed commands
--   are remembered, 5 '1' if a second node will be asked for the writes; then
--   for each batch 1 state that must be there, 2 state after it, 3 where the log
--   ends before it, 4 number of events, 5 their bytes, 6 number of further
--   arguments; and if that is not 0: 1 session, 2 card or '', 3 working '1', '0' or '', 4 number of structures,
--   5 number of consumed ids, then the names of the structures ('t:' table, 'l:'
--   list), the ids, and the ops: a letter, the number of the structure, and what
--   the op needs.
-- Returns for each batch 1 when applied, 2 if somebody follows the session,
--   {'DUP', top} when it had been applied already, or a refusal:
--   {'QUARANTINED', reason}, {'FENCED'}, {'GAP', top, number}, {'CORRUPT', key}.
--
-- The entries themselves are added by the XADDs behind this script in the same
-- transaction, see log.lua. What a lease may write is decided by one comparison:
-- owner, epoch, number of the last batch and top of the log are one string.
-- Everything that could fail is looked at before the first write, because a
-- script that stops half-way is not undone. Several batches share a call because
-- calling costs as much as a small batch.
local maxev, maxby = tonumber(ARGV[2]), tonumber(ARGV[3])
local t = redis.call('TIME')
local now = t[1] .. string.format('%03d', math.floor(t[2] / 1000))

-- mismatch says what is wrong when meta's state is not the expected one.
local function mismatch(k, a, m)
  local state, session = m[1], string.match(KEYS[k], ':([^:]+):meta$')
  local replica, epoch = string.match(ARGV[a], '^(%S+) (%d+) ')
  local no = refuse(KEYS[k + 3], session, state, replica, epoch)
  if m.err and no[1] == 'FENCED' then return {'CORRUPT', KEYS[k]} end
  if no then return no end
  local number, top = string.match(state, '(%d+) (%S+)$')
  if number ~= string.match(ARGV[a + 1], '(%d+) %S+$') then return {'GAP', top, number} end
  if ARGV[5] == '1' then redis.call('HSET', KEYS[k], 'state', state) end -- so that WAIT has something to wait for
  return {'DUP', top}
end

-- check returns the first key that a batch needs and that is of a wrong type,
-- or else which of its structures do not exist yet.
local function check(k, a, structures, consumed)
  local function wrong(key, want)
    local is = redis.call('TYPE', key).ok
    return is ~= want and is ~= 'none', is == 'none'
  end
  local needs, fresh = {}, {}
  if ARGV[a + 8] ~= '' then needs[4] = 'zset' end
  if structures > 0 then needs[5] = 'set' end
  if consumed > 0 then needs[6], needs[7], needs[8] = 'stream', 'hash', 'list' end
  for i, want in pairs(needs) do
    if wrong(KEYS[k + i], want) then return KEYS[k + i] end
  end
  for i = 1, structures do
    local bad, none = wrong(KEYS[k + 8 + i], string.sub(ARGV[a + 10 + i], 1, 1) == 't' and 'hash' or 'list')
    if bad then return KEYS[k + 8 + i] end
    fresh[i] = none
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
    if ARGV[i] == '0' then redis.call('UNLINK', key) else redis.call('LTRIM', key, '-' .. ARGV[i], -1) end
    return 1
  end,
  F = function(key, i)
    if ARGV[i] == '0' then redis.call('UNLINK', key) else redis.call('LTRIM', key, 0, ARGV[i] - 1) end
    return 1
  end,
  D = function(key) redis.call('UNLINK', key) return 0 end,
}

-- further applies what a batch has beside events.
local function further(k, a, structures, consumed, fresh)
  local meta, session, card, working = KEYS[k], ARGV[a + 6], ARGV[a + 7], ARGV[a + 8]
  if card ~= '' then redis.call('HSET', meta, 'card', card) end
  if working ~= '' then
    redis.call('HSET', meta, 'working', working)
    if working == '1' then
      redis.call('ZADD', KEYS[k + 4], redis.call('HGET', meta, 'until'), session)
    else
      redis.call('ZREM', KEYS[k + 4], session)
    end
  end
  local i, last = a + 11 + structures, a + 5 + ARGV[a + 5]
  if consumed > 0 then consume(KEYS[k + 6], KEYS[k + 7], KEYS[k + 8], i, consumed) end
  i = i + consumed
  while i <= last do i = i + 2 + ops[ARGV[i]](KEYS[k + 8 + ARGV[i + 1]], i + 2) end
  local changed = false
  for j = 1, structures do
    local there = redis.call('EXISTS', KEYS[k + 8 + j]) == 1
    if there == fresh[j] then
      redis.call(there and 'SADD' or 'SREM', KEYS[k + 5], ARGV[a + 10 + j])
      changed = true
    end
  end
  if changed then redis.call('HINCRBY', meta, 'names', 1) end
end

-- apply applies the batch whose keys and arguments begin at k and a.
local followed, channels = {}, {}
local function apply(number, k, a, structures, consumed)
  local meta, log, marks = KEYS[k], KEYS[k + 1], KEYS[k + 2]
  local m = redis.pcall('HMGET', meta, 'state', 'events', 'bytes', 'stopevents', 'stopbytes')
  if m[1] ~= ARGV[a] then return mismatch(k, a, m) end
  local n, y = tonumber(ARGV[a + 3]), tonumber(ARGV[a + 4])
  local events, bytes, stopevents, stopbytes = tonumber(m[2]), tonumber(m[3]), tonumber(m[4]), tonumber(m[5])
  if not (events and bytes and stopevents and stopbytes) then return {'CORRUPT', meta} end
  local p, fresh
  if n > 0 and (events + n > stopevents or bytes + y > stopbytes) then
    p = plan(meta, marks, events, bytes, n, y, ARGV[a + 2], string.match(ARGV[a + 1], '[%d-]+$'), maxev, maxby)
    if not p then return {'CORRUPT', meta} end
  end
  if structures then
    local wrong
    wrong, fresh = check(k, a, structures, consumed)
    if wrong then return {'CORRUPT', wrong} end
  end
  if n > 0 then
    if redis.pcall('XSETID', log, ARGV[a + 2]).err then return {'CORRUPT', log} end
    followed[#followed + 1], channels[#channels + 1] = number, meta
  end
  redis.call('HSET', meta, 'state', ARGV[a + 1], 'events', events + n, 'bytes', bytes + y, 'updated', now)
  if p then grow(meta, log, marks, p) end
  if structures then further(k, a, structures, consumed, fresh) end
  return 1
end

local answers, k, a = {}, 1, 6
for i = 1, tonumber(ARGV[1]) do
  if ARGV[a + 5] == '0' then
    answers[i] = apply(i, k, a)
    k, a = k + 4, a + 6
  else
    local structures, consumed = tonumber(ARGV[a + 9]), tonumber(ARGV[a + 10])
    answers[i] = apply(i, k, a, structures, consumed)
    k, a = k + 9 + structures, a + 6 + ARGV[a + 5]
  end
end
if #channels > 0 then
  local counts = redis.call('PUBSUB', 'SHARDNUMSUB', unpack(channels))
  for i, number in ipairs(followed) do
    if counts[2 * i] > 0 then answers[number] = 2 end
  end
end
return answers
