using System.Collections.Generic;
using System.IO;
using System.Linq;

namespace Rpcgauge
{
    /// <summary>What is called: the resource of a REST call, and the types of its messages.</summary>
    sealed class Workload
    {
        const string Own = "own";

        // Path, method, and whether the workload has a size.
        static readonly Dictionary<string, (string Path, string Method, bool IsSized)> BuiltIn =
            new Dictionary<string, (string, string, bool)>
            {
                ["echo"] = ("/several/data", "/several.SeveralService/GetSeveralData", true),
                ["hello"] = ("/hello", "/hello.Hello/SayHello", false),
                ["list"] = ("/example/list", "/ExampleService/ExampleResponse1List", true),
                ["items"] = ("/items", "/ItemService/GetItem", false),
                ["records"] = ("/records", "/records.RecordService/GetRecords", true),
                ["profile"] = ("/members/profile", "/GetMemberProfileService/GetMemberProfileCall", false),
                ["followers"] = ("/members/followers", "/GetFollowerService/GetFollowerCall", true),
            };

        public string Path { get; private set; }

        string method;

        public static Workload Parse(Keys keys)
        {
            var name = keys.RequiredText("name");
            Workload workload;
            if (name == Own)
            {
                var method = "/" + keys.RequiredText("method");
                keys.Required("descriptor_set");
                keys.Required("request");
                keys.Required("response");
                workload = new Workload { Path = method, method = method };
            }
            else if (BuiltIn.TryGetValue(name, out var known))
            {
                if (known.IsSized)
                {
                    keys.RequiredCount("n");
                }
                workload = new Workload { Path = known.Path, method = known.Method };
            }
            else
            {
                throw new Refused($"there is no workload \"{name}\"", Fault.Instrument);
            }
            keys.End();
            return workload;
        }

        /// <summary>The full name of the type of the request or the response.</summary>
        /// <param name="sample"><c>request</c> or <c>response</c></param>
        /// <param name="folder">the folder of the generated code</param>
        public string TypeOf(string sample, string folder)
        {
            var files = Json.Parse(File.ReadAllText(System.IO.Path.Combine(folder, "files.json")));
            var found = files["methods"].FirstOrDefault(one => (string)one["path"] == method);
            if (found == null)
            {
                throw new Refused($"no code was generated for {method}", Fault.Instrument);
            }
            return (string)found[sample];
        }
    }
}
