#!lua flags=no-writes
-- Reads everything that a pack of a session contains, for its owner.
--
-- KEYS: 1 meta, 2 log, 3 inbox, 4 ids, 5 done, 6... all tables and lists.
-- ARGV: 1 replica, 2 epoch, 3 version of the names from which the caller computed the keys,
--   4 bound of the content in bytes, 5... 't' or 'l' for each table or list.
-- Returns {'OK', state, log entries, ids, done, contents...}, where a log entry is {id,
--   {'d', bytes}}, the contents of a table are fields and values and those of a list are
--   items; or {'FENCED'}, {'CORRUPT', key}, {'CHANGED'} if the names have changed since, or
--   {'UNFIT'} if the session is quarantined, has commands in its inbox or is too large.
--
-- Structures are read in parts, so that a large session is not read as a whole.
local m = redis.call('HMGET', KEYS[1], 'state', 'names')
local mark, owner, epoch, top = string.match(m[1] or '', '^(!?)(%S*) (%d+) %d+ (%S+)$')
if owner ~= ARGV[1] or epoch ~= ARGV[2] then return {'FENCED'} end
if m[2] ~= ARGV[3] then return {'CHANGED'} end
if mark == '!' or redis.call('XLEN', KEYS[3]) > 0 then return {'UNFIT'} end

local left, part = tonumber(ARGV[4]), 200

local function readLog(key)
  local all, from = {}, '-'
  repeat
    local page = redis.call('XRANGE', key, from, '+', 'COUNT', part)
    for _, entry in ipairs(page) do
      left = left - #(entry[2][2] or '')
      all[#all + 1], from = entry, '(' .. entry[1]
    end
  until #page < part or left < 0
  return all
end

local function readList(key)
  local all = {}
  repeat
    local page = redis.call('LRANGE', key, #all, #all + part - 1)
    for _, item in ipairs(page) do
      left = left - #item
      all[#all + 1] = item
    end
  until #page < part or left < 0
  return all
end

-- readTable reads a table as a whole: tables are loaded as a whole all the time.
local function readTable(key)
  local all = redis.call('HGETALL', key)
  for _, text in ipairs(all) do left = left - #text end
  return all
end

local answer = {'OK', m[1]}
for i, read in ipairs({readLog, readTable, readList}) do
  local key = KEYS[i == 1 and 2 or i + 2]
  local ok, got = pcall(read, key)
  if not ok then return {'CORRUPT', key} end
  answer[i + 2] = got
  if left < 0 then return {'UNFIT'} end
end
if #answer[3] == 0 then return {'CORRUPT', KEYS[2]} end
for i = 6, #KEYS do
  local ok, got = pcall(ARGV[i - 1] == 't' and readTable or readList, KEYS[i])
  if not ok then return {'CORRUPT', KEYS[i]} end
  answer[i] = got
  if left < 0 then return {'UNFIT'} end
end
return answer
