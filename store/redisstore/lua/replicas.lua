#!lua flags=no-writes
-- Lists the live replicas in the order of ids.
--
-- KEYS: 1 replicas by expiry, 2 their cards.
-- ARGV: 1 id after which the page begins, or '', 2 number of replicas.
-- Returns {'OK', more, id, expiry in ms, card, id, ...}; more is '1' or '0'.
--
-- It sorts all replicas, which is cheap: there is one per hub process.
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
