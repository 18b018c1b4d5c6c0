-- Shared by claim.lua and commit.lua: how a log grows within its bounds.
--
-- A log takes no entries by itself: its last id is the highest there is. A
-- script that has said yes to a batch sets it to where the log ends, so that the
-- XADD behind it in the same transaction works, and the XSETID behind that locks
-- the log again. So the bytes of a batch need not go through Lua, which would
-- copy them and hash every one of them (a third of Redis' work, measured), and
-- an XADD whose script said no, or was not even known, adds nothing.
--
-- For the same reason entries are not looked at when a log is trimmed. It is cut
-- into chunks of at most a sixteenth of its bounds (a larger batch is a chunk
-- alone), only their ends are remembered, and whole chunks are dropped. In meta
--   count    is what the newest chunk holds: events * 2^32 + bytes, one number
--            because reading and writing numbers is most of what a commit costs,
--   stop     is how much it may hold before there is something to do,
--   chunk    is `<first position> <events> <bytes>`: where it begins, and all
--            events and bytes that were ever added before,
--   marks    are the older chunks: `<first> <last> <events> <bytes>;`... with all
--            events and bytes that were ever added up to their ends,
--   dropped  is `<events> <bytes>` of what is not there any more.
local locked = '18446744073709551615-18446744073709551615'
local unit = 4294967296

-- plan says what has to be done when a batch of n events and y bytes, the last
-- at position top, is added after prev. It only reads, because nothing may fail
-- after the first write. It returns the fields of meta to set and where to cut
-- the log, if at all; or nothing if what it reads makes no sense.
local function plan(meta, n, y, prev, top, maxev, maxby)
  local m = redis.call('HMGET', meta, 'chunk', 'dropped', 'marks', 'count')
  local cfirst, cev, cby = string.match(m[1] or '', '^(%S+) (%d+) (%d+)$')
  local dev, dby = string.match(m[2] or '', '^(%d+) (%d+)$')
  local tepoch, tseq = string.match(top, '^(%d+)-(%d+)$')
  local count = tonumber(m[4])
  if not (cby and dby and m[3] and count and tseq) then return end
  cev, cby, dev, dby = tonumber(cev), tonumber(cby), tonumber(dev), tonumber(dby)
  local marks, epoch, seq = m[3], nil, nil
  local events, bytes = cev + math.floor(count / unit), cby + count % unit
  local first = tepoch .. '-' .. string.format('%.0f', tseq - n + 1)
  local ev, by = events + n, bytes + y
  if events == cev then
    cfirst = first
  elseif ev - cev > maxev / 16 or by - cby > maxby / 16 then
    marks = marks .. string.format('%s %s %.0f %.0f;', cfirst, prev, events, bytes)
    cfirst, cev, cby = first, events, bytes
  end

  -- Once a bound is broken, chunks go as long as it stays seven eighths full.
  local lowev = ev - dev > maxev and maxev * 7 / 8 or 0
  local lowby = by - dby > maxby and maxby * 7 / 8 or 0
  if lowev > 0 or lowby > 0 then
    local from = 1
    for last, e, b, after in string.gmatch(marks, '%S+ (%S+) (%d+) (%d+);()') do
      local over = ev - dev > maxev or by - dby > maxby
      if not over and (ev - e < lowev or by - b < lowby) then break end
      epoch, seq = string.match(last, '^(%d+)-(%d+)$')
      from, dev, dby = after, tonumber(e), tonumber(b)
    end
    marks = string.sub(marks, from)
  end
  local set = {
    'count', (ev - cev) * unit + by - cby,
    'stop', math.max(math.min(math.floor(maxev / 16), dev + maxev - cev, 1048575), 0) * unit
      + math.max(math.min(math.floor(maxby / 16), dby + maxby - cby, unit - 1), 0),
    'chunk', string.format('%s %.0f %.0f', cfirst, cev, cby),
    'marks', marks,
  }
  if not seq then return set end
  for _, v in ipairs({
    'dropped', string.format('%.0f %.0f', dev, dby), 'oldest', string.match(marks, '^%S+') or cfirst, 'trimmed', '1',
  }) do set[#set + 1] = v end
  return set, epoch .. '-' .. string.format('%.0f', seq + 1)
end
