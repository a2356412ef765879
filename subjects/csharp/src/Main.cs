using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Sockets;
using System.Reflection;
using System.Text;
using Google.Protobuf;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Rpcgauge
{
    /// <summary>Follows the contract on standard input and output, in the role given by the settings line.</summary>
    static class Program
    {
        const int Contract = 1;
        const string Code = "generated";
        const string Version = "1.0";
        const int MaxLine = 64 << 20;

        static TextReader lines;
        static TextWriter replies;

        static int Main(string[] arguments)
        {
            if (arguments.Length == 2 && arguments[0] == "generate")
            {
                return Generate.Run(arguments[1]);
            }
            if (arguments.Length != 1)
            {
                Console.Error.WriteLine("usage: subject.exe [generate] FOLDER");
                return Fault.ExitCode(Fault.Instrument);
            }
            var utf8 = new UTF8Encoding(false);
            lines = new StreamReader(Console.OpenStandardInput(), utf8, false, 1 << 16);
            replies = new StreamWriter(Console.OpenStandardOutput(), utf8) { AutoFlush = true };
            // The output of libraries belongs in the log.
            Console.SetOut(Console.Error);
            try
            {
                Play(arguments[0]);
                return 0;
            }
            catch (Exception error)
            {
                var refused = error as Refused ?? Blamed(error);
                Reply(new JObject
                {
                    ["contract"] = Contract,
                    ["error"] = Text.OneLine(refused),
                    ["fault"] = refused.Fault,
                });
                return Fault.ExitCode(refused.Fault);
            }
        }

        static Refused Blamed(Exception error)
        {
            Console.Error.WriteLine(error);
            var cause = error.GetBaseException();
            if (cause is OperationCanceledException)
            {
                return new Refused("no response within the deadline", Fault.Machine);
            }
            // The library's exceptions for a message that it cannot read are those of input and output, too.
            var isOfLibrary = cause is InvalidProtocolBufferException || cause is InvalidJsonException;
            var isOfMachine = cause is IOException || cause is UnauthorizedAccessException ||
                cause is WebException || cause is SocketException;
            return isOfMachine && !isOfLibrary
                ? new Refused(cause.Message, Fault.Machine)
                : new Refused($"{cause.GetType().Name}: {cause.Message}", Fault.Subject);
        }

        static void Play(string folder)
        {
            var settings = Settings.Parse(ReadLine() ?? "");
            var messages = new Messages(folder);
            var parts = settings.Select(part => new Part(part, messages)).ToList();
            var ready = new JObject { ["contract"] = Contract, ["ready"] = true, ["versions"] = Versions() };
            if (parts.Count == 1)
            {
                ready["code"] = Code;
            }
            else
            {
                ready["parts"] = new JArray(parts.Select(_ => new JObject { ["code"] = Code }));
            }
            Reply(ready);
            for (var line = ReadLine(); line != null; line = ReadLine())
            {
                Reply(Answer(parts, line));
            }
        }

        /// <summary>The client or codec of one variant, and the file of its records.</summary>
        sealed class Part
        {
            public readonly IMeasurer Measurer;
            public readonly BinaryWriter Records;

            public Part(Settings settings, Messages messages)
            {
                Records = new BinaryWriter(new FileStream(settings.Records, FileMode.Create));
                Measurer = settings is CodecSettings codec
                    ? new Codec(codec, messages)
                    : (IMeasurer)new HttpCalls((ClientSettings)settings, messages);
            }
        }

        static JObject Answer(List<Part> parts, string line)
        {
            var keys = Keys.OfLine(line, "the line");
            var at = keys.Count("part") ?? 0;
            if (at >= parts.Count)
            {
                throw new Refused($"there is no part {at}: this process has {parts.Count}", Fault.Instrument);
            }
            var slice = keys.Value("slice");
            if (slice == null)
            {
                if (!keys.Flag("verify"))
                {
                    throw new Refused("the line has neither verify nor slice", Fault.Instrument);
                }
                keys.End();
                return new JObject { ["verified"] = parts[(int)at].Measurer.Verify() };
            }
            keys.End();
            var part = parts[(int)at];
            var tally = new Tally(new Slice(new Keys(slice, "the slice"), part.Measurer.IsInBatches));
            part.Measurer.Run(tally).Wait();
            var reply = tally.End(part.Records);
            var reopened = part.Measurer.Reopened();
            if (reopened > 0)
            {
                reply["reopened"] = reopened;
            }
            return new JObject { ["slice"] = reply };
        }

        static JObject Versions()
        {
            return new JObject
            {
                ["mono"] = Runtime(),
                ["Google.Protobuf"] = Of(typeof(IMessage)),
                ["Newtonsoft.Json"] = Of(typeof(JsonConvert)),
                ["rpcgauge-csharp"] = Version,
            };
        }

        /// <summary>The version of Mono, which its own class knows.</summary>
        static string Runtime()
        {
            var name = Type.GetType("Mono.Runtime")
                ?.GetMethod("GetDisplayName", BindingFlags.NonPublic | BindingFlags.Static);
            var version = (string)name?.Invoke(null, null) ?? Environment.Version.ToString();
            return version.Split(' ')[0];
        }

        /// <summary>The version of a library as its packages have it, without the number of the build.</summary>
        static string Of(Type type)
        {
            var library = type.Assembly.GetCustomAttribute<AssemblyFileVersionAttribute>();
            return string.Join(".", library.Version.Split('.').Take(3));
        }

        /// <summary>The next line; null at the end.</summary>
        static string ReadLine()
        {
            var line = lines.ReadLine();
            if (line != null && line.Length > MaxLine)
            {
                throw new Refused($"a line is longer than {MaxLine} characters", Fault.Instrument);
            }
            return line;
        }

        static void Reply(JObject reply) => replies.Write(Json.Write(reply) + "\n");
    }
}
