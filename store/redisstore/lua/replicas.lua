#!lua flags=no-writes
-- Lists replicas that are alive, in order of their ids.
--
-- KEYS: 1 replicas by the end of their life, 2 their cards.
-- ARGV: 1 the id to begin after or '', 2 how many.
-- Returns {'OK', more, id, end in ms, card, id, ...}; more is '1' or '0'.
--
-- There are as many replicas as processes of the hub, so sorting them all is
-- nothing.
local t = redis.call('TIME')
local now = t[1] .. string.format('%03d', math.floor(t[2] / 1000))
local ids = redis.call('ZRANGE', KEYS[1], '(' .. now, '+inf', 'BYSCORE')
table.sort(ids)
local answer, count = {'OK', '0'}, 0
for _, id in ipairs(ids) do
  if id > ARGV[1] then
    if count == tonumber(ARGV[2]) then
      answer[2] = '1'
      break
    end
    count = count + 1
    answer[#answer + 1] = id
    answer[#answer + 1] = redis.call('ZSCORE', KEYS[1], id)
    answer[#answer + 1] = redis.call('HGET', KEYS[2], id) or ''
  end
end
return answer
