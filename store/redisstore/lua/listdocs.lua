#!lua flags=no-writes
-- Lists documents of a collection, in order of their names.
--
-- KEYS: see docs.lua.
-- ARGV: 1 where to begin, as ZRANGE BYLEX wants it, 2 how many, 3 how many bytes
--   are enough.
-- Returns {'OK', last name looked at or '' at the end, name, version, ms left,
--   sealed data, name, ...}.
local names = redis.call('ZRANGE', KEYS[3], ARGV[1], '+', 'BYLEX', 'LIMIT', 0, ARGV[2])
local answer, bytes, last = {'OK', ''}, 0, ''
for i, name in ipairs(names) do
  if bytes >= tonumber(ARGV[3]) then
    answer[2] = names[i - 1]
    return answer
  end
  local v, left = version(name)
  if v ~= '0' then
    local data = redis.call('HGET', KEYS[1], name) or ''
    bytes = bytes + #data
    for _, x in ipairs({name, v, string.format('%.0f', left), data}) do answer[#answer + 1] = x end
  end
end
if #names == tonumber(ARGV[2]) then answer[2] = names[#names] end
return answer
