using System;
using System.Collections.Generic;
using System.Linq;
using System.Net;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;

namespace Rpcgauge
{
    /// <summary>The role <c>client</c>: REST with HttpClient. A loop for each call in flight awaits its calls.</summary>
    sealed class HttpCalls : IMeasurer
    {
        const string HandlerStart = "rpcgauge-handler-start";
        const string HandlerEnd = "rpcgauge-handler-end";
        const int MaxIdleMs = 600000;

        readonly ClientSettings settings;
        readonly Coder request, response;
        readonly List<object> requests;
        readonly HttpClient client;
        readonly Uri url;
        readonly MediaTypeHeaderValue mediaType;

        // Of all parts: one at a time makes calls, so that what has been opened meanwhile is its own.
        static readonly Sockets Sockets = new Sockets();

        // The first call of each loop opens its connection.
        int unopened;
        int turn = -1;

        public HttpCalls(ClientSettings settings, Messages messages)
        {
            this.settings = settings;
            request = messages.Coder(settings, "request");
            response = messages.Coder(settings, "response");
            requests = settings.Requests.Select(request.FromSample).ToList();
            url = new Uri($"http://{settings.Address}{settings.Workload.Path}");
            mediaType = new MediaTypeHeaderValue(
                settings.Encoding == "protobuf" ? "application/protobuf" : "application/json");
            var server = ServicePointManager.FindServicePoint(url);
            server.ConnectionLimit = settings.InFlight;
            server.UseNagleAlgorithm = false;
            // Connections stay open between slices.
            server.MaxIdleTime = MaxIdleMs;
            unopened = settings.InFlight;
            // Its own timeout would end before the body of a response is read.
            client = new HttpClient(new HttpClientHandler { UseProxy = false, UseCookies = false })
            {
                Timeout = Timeout.InfiniteTimeSpan,
            };
            client.DefaultRequestHeaders.Accept.Add(new MediaTypeWithQualityHeaderValue(mediaType.MediaType));
        }

        public bool IsInBatches => false;

        public int Reopened()
        {
            var opened = Sockets.New();
            var first = Math.Min(opened, unopened);
            unopened -= first;
            return opened - first;
        }

        public JObject Verify()
        {
            var answer = Call(Clock.Now(), requests[0]).Result;
            // Connections count as opened again for the calls of slices only.
            Reopened();
            return new JObject { ["message"] = response.ToJson(answer.Message) };
        }

        public Task Run(Tally tally) =>
            Task.WhenAll(Enumerable.Range(0, settings.InFlight).Select(_ => Task.Run(() => MakeCalls(tally))));

        async Task MakeCalls(Tally tally)
        {
            // mcs cannot compile `out var` in an asynchronous method.
            bool isRecorded;
            while (tally.Next(out isRecorded))
            {
                var next = (int)((uint)Interlocked.Increment(ref turn) % requests.Count);
                var begin = Clock.Now();
                try
                {
                    var answer = await Call(begin, requests[next]).ConfigureAwait(false);
                    if (isRecorded)
                    {
                        tally.Add(answer.Record);
                    }
                }
                catch (Exception error)
                {
                    if (isRecorded)
                    {
                        var cause = error.GetBaseException();
                        tally.AddFailed(begin, cause is OperationCanceledException
                            ? $"no response within {settings.DeadlineMs} ms"
                            : Text.OneLine(cause));
                    }
                }
            }
        }

        /// <summary>A decoded response, and the record of its call.</summary>
        sealed class Answer
        {
            public Record Record;
            public object Message;
        }

        async Task<Answer> Call(long begin, object message)
        {
            var body = request.Encode(message);
            var encoded = Clock.Now();
            var content = new ByteArrayContent(body);
            content.Headers.ContentType = mediaType;
            using (var deadline = new CancellationTokenSource(settings.DeadlineMs))
            using (var post = new HttpRequestMessage(HttpMethod.Post, url) { Content = content })
            using (var answer = await client
                .SendAsync(post, HttpCompletionOption.ResponseHeadersRead, deadline.Token)
                .ConfigureAwait(false))
            {
                var firstByte = Clock.Now();
                var bytes = await answer.Content.ReadAsByteArrayAsync().ConfigureAwait(false);
                var received = Clock.Now();
                // HttpClient cannot stop reading a body.
                deadline.Token.ThrowIfCancellationRequested();
                if (!answer.IsSuccessStatusCode)
                {
                    var text = Encoding.UTF8.GetString(bytes, 0, Math.Min(bytes.Length, 200));
                    throw new HttpRequestException($"{(int)answer.StatusCode}: {text}");
                }
                if (bytes.LongLength > settings.MaxMessageBytes)
                {
                    throw new HttpRequestException($"the response has {bytes.LongLength} bytes, more than the limit");
                }
                var decoded = response.Decode(bytes);
                var record = new Record
                {
                    Begin = begin,
                    Encoded = encoded,
                    FirstByte = firstByte,
                    Received = received,
                    End = Clock.Now(),
                    RequestBytes = (uint)body.Length,
                    ResponseBytes = (uint)bytes.Length,
                    Operations = 1,
                };
                if (settings.HasMarks)
                {
                    record.HandlerStart = Mark(answer, HandlerStart);
                    record.HandlerEnd = Mark(answer, HandlerEnd);
                }
                return new Answer { Record = record, Message = decoded };
            }
        }

        static long Mark(HttpResponseMessage answer, string name) =>
            answer.Headers.TryGetValues(name, out var values) ? long.Parse(values.First()) : 0;
    }
}
