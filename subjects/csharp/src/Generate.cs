using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Text;
using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace Rpcgauge
{
    /// <summary>
    /// Generates the code for a set of messages: that of protoc for Google.Protobuf, and classes for Newtonsoft.Json.
    /// </summary>
    static class Generate
    {
        /// <summary>The compiled code, in the folder of the set.</summary>
        public const string Library = "messages.dll";

        const string Protoc = "target/protoc";

        // Fields of a FileDescriptorSet, a FileDescriptorProto, and FileOptions in descriptor.proto.
        const int SetFile = 1;
        const int FileName = 1;
        const int FileOptions = 8;
        const int CsharpNamespace = 37;

        /// <summary>Generates the code in the folder, and returns an exit code.</summary>
        public static int Run(string folder)
        {
            try
            {
                return Write(folder);
            }
            catch (Exception error)
            {
                Console.Error.WriteLine(error);
                // rpcgauge shows the last line.
                Console.Error.WriteLine(Text.OneLine(error.GetBaseException()));
                return Fault.ExitCode(Fault.Subject);
            }
        }

        static int Write(string folder)
        {
            var listed = Json.Parse(File.ReadAllText(Path.Combine(folder, "files.json")));
            var names = listed["generate"].Select(name => (string)name).ToList();
            var code = Path.Combine(folder, "code");
            Directory.CreateDirectory(code);
            var files = Fields(File.ReadAllBytes(Path.Combine(folder, "descriptors.binpb")), SetFile).ToList();
            var own = Path.Combine(code, "descriptors.binpb");
            var changed = files.Select((file, at) => InNamespace(file.ToByteArray(), at, names).ToArray());
            File.WriteAllBytes(own, changed.SelectMany(file => Field(SetFile, file)).ToArray());
            var arguments = new[] { "--descriptor_set_in=" + own, "--csharp_out=" + code, "--csharp_opt=base_namespace=" };
            var exit = Execute(Protoc, arguments.Concat(names));
            if (exit != 0)
            {
                return exit;
            }
            var methods = listed["methods"];
            var types = methods.SelectMany(method => new[] { (string)method["request"], (string)method["response"] });
            var wanted = new HashSet<string>(types);
            var messages = FileDescriptor.BuildFromByteStrings(files)
                .SelectMany(file => file.MessageTypes)
                .SelectMany(WithNested)
                .Where(message => wanted.Contains(message.FullName));
            File.WriteAllText(Path.Combine(code, "Models.cs"), Models.Source(messages));
            return Execute("python3", new[] { "build.py", "library", Path.Combine(folder, Library), code });
        }

        static IEnumerable<MessageDescriptor> WithNested(MessageDescriptor message) =>
            new[] { message }.Concat(message.NestedTypes.SelectMany(WithNested));

        /// <summary>The values of a field of bytes or of a message.</summary>
        static IEnumerable<ByteString> Fields(byte[] message, int number)
        {
            var input = new CodedInputStream(message);
            for (var tag = input.ReadTag(); tag != 0; tag = input.ReadTag())
            {
                if (tag == WireFormat.MakeTag(number, WireFormat.WireType.LengthDelimited))
                {
                    yield return input.ReadBytes();
                }
                else
                {
                    input.SkipLastField();
                }
            }
        }

        static byte[] Field(int number, byte[] value)
        {
            var bytes = new MemoryStream();
            using (var output = new CodedOutputStream(bytes, true))
            {
                output.WriteTag(number, WireFormat.WireType.LengthDelimited);
                output.WriteLength(value.Length);
            }
            bytes.Write(value, 0, value.Length);
            return bytes.ToArray();
        }

        /// <summary>
        /// Gives a file that is to be generated a namespace of its own, instead of that of its options, which can be
        /// anything: types of one name do not collide. The last value of a field counts.
        /// </summary>
        static IEnumerable<byte> InNamespace(byte[] file, int at, List<string> names)
        {
            if (!names.Contains(Fields(file, FileName).Last().ToStringUtf8()))
            {
                return file;
            }
            var options = Field(CsharpNamespace, Encoding.UTF8.GetBytes("RpcgaugeMessages.File" + at));
            return file.Concat(Field(FileOptions, options));
        }

        /// <summary>Runs a program, whose errors go to standard error, and returns its exit code.</summary>
        static int Execute(string program, IEnumerable<string> arguments)
        {
            var start = new ProcessStartInfo(program, string.Join(" ", arguments.Select(Quoted)))
            {
                UseShellExecute = false,
            };
            using (var process = Process.Start(start))
            {
                process.WaitForExit();
                return process.ExitCode;
            }
        }

        static string Quoted(string argument) =>
            "\"" + argument.Replace("\\", "\\\\").Replace("\"", "\\\"") + "\"";
    }
}
