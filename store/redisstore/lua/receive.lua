#!lua flags=no-writes
-- Reads commands for a session's owner.
--
-- KEYS: 1 meta, 2 inbox.
-- ARGV: 1 replica, 2 epoch, 3 where to begin in the inbox, 4 how many bytes are
--   enough.
-- Returns {'OK', entry...} where an entry is {place, {'id', id, 'd', data}}, or
--   {'FENCED'}.
local state = redis.call('HGET', KEYS[1], 'state')
local owner, epoch = string.match(state or '', '^!?(%S*) (%d+) ')
if owner ~= ARGV[1] or epoch ~= ARGV[2] then return {'FENCED'} end
local answer, from, bytes = {'OK'}, ARGV[3], 0
repeat
  local page = redis.call('XRANGE', KEYS[2], from, '+', 'COUNT', 8)
  for _, entry in ipairs(page) do
    answer[#answer + 1] = entry
    from, bytes = '(' .. entry[1], bytes + #(entry[2][4] or '')
  end
until #page < 8 or bytes >= tonumber(ARGV[4])
return answer
