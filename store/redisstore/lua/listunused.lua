#!lua flags=no-writes
-- Lists sessions of a partition that have not changed for long and may be moved to an object.
--
-- KEYS: 1 sessions of the partition by last change.
-- ARGV: 1 rank of the first session, 2 number of sessions to look at, 3 second before which they
--   changed last.
-- Returns {'OK', next rank or '' at the end, session...}.
--
-- A pack of less than 512 bytes stays: a reference is not much shorter.
local page = redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[1] + ARGV[2] - 1, 'WITHSCORES')
local tag = string.match(KEYS[1], '^(.-{p%d+}:)recent$')
local answer = {'OK', #page == 2 * ARGV[2] and string.format('%.0f', ARGV[1] + ARGV[2]) or ''}
for i = 1, #page, 2 do
  if tonumber(page[i + 1]) >= tonumber(ARGV[3]) then
    answer[2] = ''
    break
  end
  local base = tag .. 's:' .. page[i] .. ':'
  local m = redis.pcall('HMGET', base .. 'meta', 'state', 'working')
  if not m.err and m[1] and string.sub(m[1], 1, 1) ~= '!' and m[2] ~= '1' then
    local bytes = redis.pcall('STRLEN', base .. 'pack')
    if bytes == 0 or type(bytes) == 'number' and bytes >= 512 then answer[#answer + 1] = page[i] end
  end
end
return answer
