using System;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;

namespace Rpcgauge
{
    /// <summary>The role <c>codec</c>: encodes or decodes a message without a call.</summary>
    sealed class Codec : IMeasurer
    {
        readonly Coder coder;
        readonly bool encodes;
        readonly object message;
        readonly byte[] encoded;

        public Codec(CodecSettings settings, Messages messages)
        {
            coder = messages.Coder(settings, settings.Sample);
            encodes = settings.Encodes;
            message = coder.FromSample(settings.Message);
            encoded = coder.Encode(message);
            if (encoded.LongLength > settings.MaxMessageBytes)
            {
                throw new Refused($"the sample has {encoded.LongLength} bytes, more than the limit", Fault.User);
            }
        }

        public bool IsInBatches => true;

        public JObject Verify()
        {
            return encodes
                ? new JObject { ["bytes"] = Convert.ToBase64String(coder.Encode(message)) }
                : new JObject { ["message"] = coder.ToJson(coder.Decode(encoded)) };
        }

        public Task Run(Tally tally)
        {
            while (tally.Next(out var isRecorded))
            {
                var begin = Clock.Now();
                try
                {
                    Repeat(tally.Batch);
                }
                catch (Exception error)
                {
                    if (isRecorded)
                    {
                        tally.AddFailed(begin, Text.OneLine(error));
                    }
                    continue;
                }
                var end = Clock.Now();
                if (isRecorded)
                {
                    tally.Add(new Record
                    {
                        Begin = begin,
                        End = end,
                        RequestBytes = Record.NotKnown,
                        ResponseBytes = Record.NotKnown,
                        Operations = (uint)tally.Batch,
                    });
                }
            }
            return Task.CompletedTask;
        }

        public int Reopened() => 0;

        void Repeat(int operations)
        {
            if (encodes)
            {
                for (var done = 0; done < operations; done++)
                {
                    coder.Encode(message);
                }
            }
            else
            {
                for (var done = 0; done < operations; done++)
                {
                    coder.Decode(encoded);
                }
            }
        }
    }
}
