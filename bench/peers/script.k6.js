// Issues one unary call per iteration, as specified by the TASK variable. Writes the summary as a JSON object.
import grpc from 'k6/net/grpc';
import http from 'k6/http';
import { Counter } from 'k6/metrics';

const task = JSON.parse(__ENV.TASK);
const answered = new Counter('calls_answered');
const failed = new Counter('calls_failed');

export const options = {
  scenarios: { calls: task.plan },
  discardResponseBodies: true,
  summaryTrendStats: ['avg', 'max', 'p(50)', 'p(95)', 'p(99)', 'p(99.9)'],
};

const client = new grpc.Client();
if (task.protocol === 'grpc') {
  const end = task.proto.lastIndexOf('/');
  client.load([task.proto.slice(0, end)], task.proto.slice(end + 1));
}
const request = JSON.parse(task.body);
const json = { headers: { 'Content-Type': 'application/json' } };

let isConnected = false;

function callGrpc() {
  if (!isConnected) {
    client.connect(task.address, { plaintext: true });
    isConnected = true;
  }
  return client.invoke(task.method, request).status === grpc.StatusOK;
}

function callHttp() {
  return http.post(`http://${task.address}/hello`, task.body, json).status === 200;
}

const call = task.protocol === 'grpc' ? callGrpc : callHttp;

export default function () {
  (call() ? answered : failed).add(1);
}

export function handleSummary(data) {
  const value = (name) => (data.metrics[name] ? data.metrics[name].values.count : 0);
  const times = data.metrics[task.protocol === 'grpc' ? 'grpc_req_duration' : 'http_req_duration'];
  const report = {
    answered: value('calls_answered'),
    failed: value('calls_failed'),
    per_second: data.metrics.iterations.values.rate,
    times: times.values,
  };
  return { stdout: JSON.stringify(report) + '\n' };
}
