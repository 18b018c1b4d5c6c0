#!lua flags=no-writes
-- Lists cold sessions of a partition.
--
-- KEYS: 1 sessions of the partition by last change.
-- ARGV: 1 rank of the first session, 2 number of sessions to look at.
-- Returns {'OK', next rank or '' at the end, session...}.
--
-- The first byte of a reference is its version and the sixth its form: packs have others.
local page = redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[1] + ARGV[2] - 1)
local tag = string.match(KEYS[1], '^(.-{p%d+}:)recent$')
local answer = {'OK', #page == tonumber(ARGV[2]) and string.format('%.0f', ARGV[1] + ARGV[2]) or ''}
for _, session in ipairs(page) do
  local head = redis.pcall('GETRANGE', tag .. 's:' .. session .. ':pack', 0, 5)
  if type(head) == 'string' and #head == 6 and string.byte(head, 1) == 3 and string.byte(head, 6) == 2 then
    answer[#answer + 1] = session
  end
end
return answer
