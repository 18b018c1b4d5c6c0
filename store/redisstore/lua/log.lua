-- Shared by the scripts that write: how a log grows within its bounds.
--
-- A log takes no entries by itself: its last id is the highest there is. A
-- script that has said yes to a batch sets it to where the log ends, so that the
-- XADD behind it in the same transaction works, and the XSETID behind that locks
-- the log again. So the bytes of a batch need not go through Lua, which would
-- copy them and hash every one of them (a third of Redis' work, measured), and
-- an XADD whose script said no, or was not even known, adds nothing.
--
-- A log is cut into chunks of at most a sixteenth of its bounds (a larger batch
-- is a chunk alone), and whole chunks are dropped. Only a chunk's ends are
-- remembered, in the list of marks and, for the newest, in meta: to look at the
-- entries themselves would mean to copy and hash every byte of the log in Lua.
-- Counts are of all events and bytes ever added, so that they need no
-- correction; "chunk" is `<first position> <events> <bytes>` when the newest
-- chunk began, "dropped" is `<events> <bytes>` of what is gone, a mark is
-- `<first position> <last position> <events> <bytes>` when the chunk ended.
local locked = '18446744073709551615-18446744073709551615'

-- plan says what has to be done when n events of y bytes, the last at position
-- top, are added after prev to a log that has events and bytes. It only reads,
-- because nothing may fail after the first write. It returns what grow needs, or
-- nothing if what it reads makes no sense.
local function plan(meta, marks, events, bytes, n, y, prev, top, maxev, maxby)
  local m = redis.call('HMGET', meta, 'chunk', 'dropped')
  local cfirst, cev, cby = string.match(m[1] or '', '^(%S+) (%d+) (%d+)$')
  local dev, dby = string.match(m[2] or '', '^(%d+) (%d+)$')
  local tepoch, tseq = string.match(top, '^(%d+)-(%d+)$')
  if not cby or not dby or not tseq then return end
  local first = tepoch .. '-' .. string.format('%.0f', tseq - n + 1)
  cev, cby, dev, dby = tonumber(cev), tonumber(cby), tonumber(dev), tonumber(dby)
  local p = {ev = events + n, by = bytes + y, drop = 0, set = {}}
  local done = redis.call('LRANGE', marks, 0, -1)
  if events == cev then
    cfirst = first
  elseif p.ev - cev > maxev / 16 or p.by - cby > maxby / 16 then
    p.mark = table.concat({cfirst, prev, string.format('%.0f %.0f', events, bytes)}, ' ')
    done[#done + 1] = p.mark
    cfirst, cev, cby = first, events, bytes
  end

  -- Once a bound is broken, chunks go as long as it stays seven eighths full.
  local lowev = p.ev - dev > maxev and maxev * 7 / 8 or 0
  local lowby = p.by - dby > maxby and maxby * 7 / 8 or 0
  if lowev > 0 or lowby > 0 then
    for i, mark in ipairs(done) do
      local last, e, b = string.match(mark, '^%S+ (%S+) (%d+) (%d+)$')
      if not b then return end
      local over = p.ev - dev > maxev or p.by - dby > maxby
      if not over and (p.ev - e < lowev or p.by - b < lowby) then break end
      p.drop, p.last, dev, dby = i, last, tonumber(e), tonumber(b)
    end
  end
  local set = {'chunk', cfirst .. string.format(' %.0f %.0f', cev, cby),
    'stopevents', math.min(cev + math.floor(maxev / 16), dev + maxev),
    'stopbytes', math.min(cby + math.floor(maxby / 16), dby + maxby)}
  if p.drop > 0 then
    local epoch, seq = string.match(p.last, '^(%d+)-(%d+)$')
    if not seq then return end
    p.from = epoch .. '-' .. string.format('%.0f', seq + 1)
    local following = done[p.drop + 1]
    local oldest = following and string.match(following, '^%S+') or cfirst
    for _, v in ipairs({'dropped', string.format('%.0f %.0f', dev, dby), 'oldest', oldest, 'trimmed', '1'}) do
      set[#set + 1] = v
    end
  end
  p.set = set
  return p
end

-- grow carries a plan out, once the entry is in the log.
local function grow(meta, log, marks, p)
  if p.mark then redis.call('RPUSH', marks, p.mark) end
  if p.drop > 0 then
    redis.call('LTRIM', marks, p.drop, -1)
    redis.call('XTRIM', log, 'MINID', p.from)
  end
  redis.call('HSET', meta, unpack(p.set))
end

-- refuse says why a writer may not write, given meta's state, which is
-- `<owner> <epoch> <number> <top>` behind a '!' if the session is quarantined.
local function refuse(quarantine, session, state, replica, epoch)
  local reason = redis.call('HGET', quarantine, session)
  if reason then return {'QUARANTINED', reason} end
  local owner, e = string.match(state or '', '^(%S*) (%d+) %d+ %S+$')
  if owner ~= replica or e ~= epoch then return {'FENCED'} end
end
