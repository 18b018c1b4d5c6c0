#!lua flags=no-writes
-- Lists documents of a collection in the order of names.
--
-- KEYS: see docs.lua.
-- ARGV: 1 lower bound of the names in the format of ZRANGE BYLEX, 2 number of names,
--   3 size of the data in bytes after which the page ends.
-- Returns {'OK', cursor, name, version, remaining ms, sealed data, name, ...}; the
--   cursor is the last name of the page, or '' if there are no more.
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
