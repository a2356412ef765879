-- Posts the JSON from the script's argument, and writes the report as JSON. The request is built only once
-- because there is no function `request`, and responses are not inspected because there is no function
-- `response`. So none of this script runs during the load.
function init(args)
  wrk.method = "POST"
  wrk.body = args[1]
  wrk.headers["Content-Type"] = "application/json"
end

function done(summary, latency, requests)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format(
    '{"requests":%d,"errors":%d,"elapsed":%d,"mean":%.3f,"p50":%d,"p95":%d,"p99":%d,"p99.9":%d,"max":%d}\n',
    summary.requests, failed, summary.duration, latency.mean, latency:percentile(50),
    latency:percentile(95), latency:percentile(99), latency:percentile(99.9), latency.max))
end
