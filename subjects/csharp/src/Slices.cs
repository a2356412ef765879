using System;
using System.Collections.Generic;
using System.IO;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;

namespace Rpcgauge
{
    /// <summary>The record of a call or a batch, as the contract defines it; 0 for times that are not observed.</summary>
    struct Record
    {
        public const uint NotKnown = uint.MaxValue;

        const uint Succeeded = 0;
        const uint Failed = 1;

        public long Begin, Encoded, FirstByte, Received, End, HandlerStart, HandlerEnd;
        public uint RequestBytes, ResponseBytes, Operations;
        public bool HasFailed;

        public void Write(BinaryWriter file)
        {
            file.Write(Begin);
            file.Write(Encoded);
            // HttpClient does not say when the transport has accepted the bytes.
            file.Write(0L);
            file.Write(FirstByte);
            file.Write(Received);
            file.Write(End);
            file.Write(HandlerStart);
            file.Write(HandlerEnd);
            file.Write(RequestBytes);
            file.Write(ResponseBytes);
            file.Write(HasFailed ? Failed : Succeeded);
            file.Write(Operations);
        }
    }

    /// <summary>What the lab requests with a line.</summary>
    sealed class Slice
    {
        public long Skip { get; }
        public long? Calls { get; }
        public long? TimeUs { get; }

        /// <summary>The operations in a batch of a codec; 0 for a client.</summary>
        public int Batch { get; }

        public Slice(Keys keys, bool isInBatches)
        {
            Skip = keys.RequiredCount("skip");
            Calls = keys.Count("calls", 1);
            TimeUs = keys.Count("time_us");
            Batch = (int)(keys.Count("batch", 0, int.MaxValue) ?? 0);
            keys.End();
            if ((Calls == null) == (TimeUs == null))
            {
                throw new Refused("the slice must have either calls or time_us", Fault.Instrument);
            }
            if (Batch > 0 != isInBatches)
            {
                throw new Refused(
                    "a codec's slice must have batch, at least 1, and a client's must not", Fault.Instrument);
            }
        }
    }

    /// <summary>
    /// The state of a slice: the calls still to be made, and the records of the others. Loops that make calls concurrently
    /// share it.
    /// </summary>
    sealed class Tally
    {
        readonly object gate = new object();
        readonly Slice asked;
        readonly List<Record> records = new List<Record>();
        long skipped, started, end, cpuBegin;
        string error;

        public Tally(Slice asked)
        {
            this.asked = asked;
        }

        public int Batch => asked.Batch;

        /// <summary>Whether to make another call, and whether to record it.</summary>
        public bool Next(out bool isRecorded)
        {
            lock (gate)
            {
                isRecorded = skipped == asked.Skip;
                if (!isRecorded)
                {
                    skipped++;
                    return true;
                }
                if (started == 0)
                {
                    cpuBegin = Clock.Cpu();
                    end = Clock.Now() + (asked.TimeUs ?? 0) * 1000;
                }
                else if (asked.Calls == null ? Clock.Now() >= end : started == asked.Calls)
                {
                    return false;
                }
                started++;
                return true;
            }
        }

        public void Add(Record record)
        {
            lock (gate)
            {
                records.Add(record);
            }
        }

        public void AddFailed(long begin, string cause)
        {
            lock (gate)
            {
                error = error ?? cause;
            }
            Add(new Record
            {
                Begin = begin,
                End = Clock.Now(),
                RequestBytes = Record.NotKnown,
                ResponseBytes = Record.NotKnown,
                Operations = (uint)Math.Max(1, Batch),
                HasFailed = true,
            });
        }

        /// <summary>Ends the slice: writes its records, and returns the reply to its line.</summary>
        public JObject End(BinaryWriter file)
        {
            var reply = new JObject { ["records"] = records.Count, ["cpu_ns"] = Clock.Cpu() - cpuBegin };
            foreach (var record in records)
            {
                record.Write(file);
            }
            file.Flush();
            if (error != null)
            {
                reply["error"] = error;
            }
            return reply;
        }
    }

    /// <summary>A client or a codec.</summary>
    interface IMeasurer
    {
        bool IsInBatches { get; }

        /// <summary>Makes one call or operation, and returns the result for the lab to verify.</summary>
        JObject Verify();

        /// <summary>Makes all calls of the tally.</summary>
        Task Run(Tally tally);

        /// <summary>The connections that were lost and opened again since this was last asked.</summary>
        int Reopened();
    }
}
