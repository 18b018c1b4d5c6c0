#!lua flags=no-writes
-- Reads commands from the inbox for the owner of a session.
--
-- KEYS: 1 meta, 2 inbox.
-- ARGV: 1 replica, 2 epoch, 3 lower bound of the entry ids, 4 size in bytes after which
--   the result ends.
-- Returns {'OK', entry...} where an entry is {entry id, {'id', id, 'd', data}}, or
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
