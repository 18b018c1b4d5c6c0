-- Functions that claim.lua and commit.lua share: how a log grows within its bounds.
--
-- A log is locked: its last id is the greatest possible one, so that XADD fails. A
-- script that accepts a batch sets the last id to the end of the log. The XADD that
-- follows in the same transaction then succeeds, and the XSETID after it locks the
-- log again. The bytes of a batch therefore do not pass through Lua, which would
-- copy and hash them (measured: a third of the work of Redis), and an XADD adds
-- nothing if its script refused the batch or was unknown to the server.
--
-- For the same reason trimming does not read entries. The log is divided into chunks
-- of at most a sixteenth of its bounds (a larger batch is a chunk of its own), meta
-- holds the ends of the chunks, and trimming drops whole chunks. The fields of meta:
--   count    content of the newest chunk: events * 2^32 + bytes. It is one number
--            because parsing and formatting numbers is most of the cost of a commit.
--   stop     value of count up to which a commit need not call plan
--   chunk    `<first position> <events> <bytes>` of the newest chunk: where it begins,
--            and the sum of all events and bytes ever added before it
--   marks    the older chunks: `<first> <last> <events> <bytes>;`... with the sum of
--            all events and bytes ever added up to their ends
--   dropped  `<events> <bytes>`: the sum of all that was trimmed
local locked = '18446744073709551615-18446744073709551615'
local unit = 4294967296

-- plan computes the effect of adding a batch of n events and y bytes, the last event at
-- position top, after prev. It only reads, because nothing may fail after the first
-- write. It returns the fields of meta to set and, if the log must be trimmed, the first
-- id to keep; or nothing if meta is unreadable.
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

  -- Over a bound, drop chunks while the log stays at least seven eighths full.
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
