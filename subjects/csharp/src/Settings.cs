using System.Collections.Generic;
using System.Linq;
using Newtonsoft.Json.Linq;

namespace Rpcgauge
{
    /// <summary>The settings line of the contract, for the roles that this subject plays.</summary>
    abstract class Settings
    {
        const int Contract = 1;
        const int MinParts = 2;
        const int MaxParts = 64;
        const long DefaultMaxMessageBytes = 16 << 20;

        public Workload Workload { get; }
        public string Encoding { get; }
        public long MaxMessageBytes { get; }

        /// <summary>The path of the file for records.</summary>
        public string Records { get; }

        /// <summary>Returns the settings of each part; of one, unless the role is <c>clients</c>.</summary>
        /// <exception cref="Refused">The line breaks the contract, or no stack here supports it.</exception>
        public static List<Settings> Parse(string line)
        {
            var keys = Keys.OfLine(line, "the settings line");
            var version = keys.Value("contract");
            if (version == null || version.Type != JTokenType.Integer || (long)version != Contract)
            {
                throw new Refused(
                    $"the settings line has contract version {version}; this subject supports {Contract}",
                    Fault.Instrument);
            }
            var role = keys.RequiredText("role");
            switch (role)
            {
                case "codec":
                    return new List<Settings> { new CodecSettings(keys) };
                case "client":
                    return new List<Settings> { new ClientSettings(keys) };
                case "clients":
                    var parts = keys.Required("parts") as JArray;
                    if (parts == null || parts.Count < MinParts || parts.Count > MaxParts)
                    {
                        throw new Refused($"parts is not a list of {MinParts} to {MaxParts}", Fault.Instrument);
                    }
                    keys.End();
                    return parts
                        .Select((part, at) => (Settings)new ClientSettings(new Keys(part, $"part {at}")))
                        .ToList();
                default:
                    throw new Refused(
                        $"unknown role \"{role}\": this subject supports client, clients and codec", Fault.Instrument);
            }
        }

        /// <summary>Takes the keys that all roles have.</summary>
        /// <param name="stacks">the encodings of each stack, of which the first is the default</param>
        protected Settings(Keys keys, Dictionary<string, string[]> stacks)
        {
            var stack = keys.Text("stack") ?? stacks.Keys.First();
            if (!stacks.TryGetValue(stack, out var encodings))
            {
                var known = string.Join(" or ", stacks.Keys);
                throw new Refused($"there is no stack \"{stack}\" in this role: use {known}", Fault.User);
            }
            Encoding = Supported("encoding", keys.RequiredText("encoding"), encodings);
            Workload = Workload.Parse(new Keys(keys.Required("workload"), "the workload"));
            Records = keys.RequiredText("records");
            var limits = new Keys(keys.Value("limits") ?? new JObject(), "limits");
            MaxMessageBytes = limits.Count("max_message_bytes", 1, uint.MaxValue) ?? DefaultMaxMessageBytes;
            foreach (var limit in new[] { "max_depth", "max_inflation" })
            {
                if (limits.Count(limit, 1) != null)
                {
                    throw new Refused($"the stack {stack} has no limit {limit}", Fault.User);
                }
            }
            limits.End();
        }

        /// <summary>Returns the value if it is one of those that a stack has.</summary>
        protected static string Supported(string what, string value, params string[] values) =>
            OneOf(what, value, Fault.User, values);

        protected static string OneOf(string what, string value, string fault, params string[] values)
        {
            if (!values.Contains(value))
            {
                throw new Refused($"there is no {what} \"{value}\", only {string.Join(", ", values)}", fault);
            }
            return value;
        }
    }

    sealed class CodecSettings : Settings
    {
        static readonly Dictionary<string, string[]> Stacks = new Dictionary<string, string[]>
        {
            ["protobuf"] = new[] { "protobuf", "protojson" },
            ["newtonsoft"] = new[] { "json" },
            ["hybrid"] = new[] { "hybrid" },
        };

        public string Sample { get; }
        public JToken Message { get; }

        /// <summary>Whether it encodes; otherwise it decodes.</summary>
        public bool Encodes { get; }

        public CodecSettings(Keys keys) : base(keys, Stacks)
        {
            Sample = OneOf("sample", keys.RequiredText("sample"), Fault.Instrument, "request", "response");
            Message = keys.Required("message");
            Encodes = OneOf("operation", keys.RequiredText("operation"), Fault.Instrument, "encode", "decode")
                == "encode";
            Supported("compression", keys.Text("compression") ?? "none", "none");
            keys.End();
        }
    }

    sealed class ClientSettings : Settings
    {
        static readonly Dictionary<string, string[]> Stacks = new Dictionary<string, string[]>
        {
            ["http-client"] = new[] { "json", "protojson", "protobuf" },
        };

        /// <summary>As declared in subject.toml.</summary>
        const int MaxInFlight = 64;

        public string Address { get; }
        public JArray Requests { get; }
        public int InFlight { get; }
        public int DeadlineMs { get; }
        public bool HasMarks { get; }

        public ClientSettings(Keys keys) : base(keys, Stacks)
        {
            Address = keys.RequiredText("address");
            if (Address.StartsWith("unix:"))
            {
                throw new Refused("HttpClient on Mono has no Unix sockets", Fault.User);
            }
            Requests = keys.Required("requests") as JArray;
            if (Requests == null || Requests.Count == 0)
            {
                throw new Refused("requests is not a list with requests", Fault.Instrument);
            }
            Supported("protocol", keys.RequiredText("protocol"), "rest");
            Supported("HTTP version", keys.RequiredText("http"), "1.1");
            Supported("compression", keys.Text("request_compression") ?? "none", "none");
            Supported("compression", keys.Text("response_compression") ?? "none", "none");
            Supported("connection", keys.Text("connection") ?? "reuse", "reuse");
            Supported("style", keys.Text("style") ?? "coroutine", "coroutine");
            if (keys.Count("channels", 1) > 1)
            {
                throw new Refused("the stack has one channel", Fault.User);
            }
            var inFlight = keys.Count("in_flight", 1) ?? 1;
            if (inFlight > MaxInFlight)
            {
                throw new Refused($"the stack has at most {MaxInFlight} calls in flight, not {inFlight}", Fault.User);
            }
            InFlight = (int)inFlight;
            DeadlineMs = (int)keys.RequiredCount("deadline_ms", 1, int.MaxValue);
            HasMarks = keys.Flag("marks");
            keys.End();
        }
    }
}
