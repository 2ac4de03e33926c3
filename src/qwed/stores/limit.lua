-- One hit on a sliding window. KEYS[1]: the window. ARGV: how many hits it takes, how long it lasts (µs).
-- Answers 0 where the hit was counted, else the microseconds until one more would be. Redis has the time.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - window))
local count = redis.call('ZCARD', KEYS[1])
if count >= limit then
    local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
    return math.max(1, tonumber(oldest[2]) + window - now)
end
redis.call('ZADD', KEYS[1], string.format('%.0f', now), string.format('%.0f-%d', now, count))
redis.call('PEXPIRE', KEYS[1], math.ceil(window / 1000))
return 0
