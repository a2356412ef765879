using System.Collections.Generic;
using System.Linq;
using System.Text;
using Google.Protobuf.Reflection;

namespace Rpcgauge
{
    /// <summary>
    /// Writes the source of classes for Newtonsoft.Json, with the names of the proto3 JSON mapping, as an application
    /// without protobuf would have them.
    /// </summary>
    sealed class Models
    {
        public const string Namespace = "RpcgaugeModels";

        /// <summary>The class with the dictionary of the types, by the full names of the messages.</summary>
        public const string Index = "Index";

        // Messages that have their own form in JSON.
        static readonly Dictionary<string, string> WellKnown = new Dictionary<string, string>
        {
            ["Any"] = "JObject",
            ["BoolValue"] = "bool?",
            ["BytesValue"] = "byte[]",
            ["DoubleValue"] = "double?",
            ["Duration"] = "string",
            ["FieldMask"] = "string",
            ["FloatValue"] = "float?",
            ["Int32Value"] = "int?",
            ["Int64Value"] = "long?",
            ["ListValue"] = "JArray",
            ["NullValue"] = "JToken",
            ["StringValue"] = "string",
            ["Struct"] = "JObject",
            ["Timestamp"] = "string",
            ["UInt32Value"] = "uint?",
            ["UInt64Value"] = "ulong?",
            ["Value"] = "JToken",
        };

        readonly StringBuilder source = new StringBuilder();
        readonly HashSet<string> written = new HashSet<string>();

        /// <summary>Returns the source of the classes of these messages, and of all that they contain.</summary>
        public static string Source(IEnumerable<MessageDescriptor> roots)
        {
            var models = new Models();
            models.source.Append(
                $"namespace {Namespace}\n{{\nusing System;\nusing System.Collections.Generic;\n" +
                "using Newtonsoft.Json;\nusing Newtonsoft.Json.Converters;\nusing Newtonsoft.Json.Linq;\n\n");
            var index = string.Concat(
                roots.Select(root => $"[\"{root.FullName}\"] = typeof({models.TypeOf(root)}),\n"));
            models.source.Append(
                $"public static class {Index}\n{{\n" +
                $"public static readonly Dictionary<string, Type> Types = new Dictionary<string, Type>\n{{\n{index}}};\n" +
                "}\n}\n");
            return models.source.ToString();
        }

        /// <summary>The type of a message, whose class is written before.</summary>
        string TypeOf(MessageDescriptor message)
        {
            if (message.File.Package == "google.protobuf" && WellKnown.TryGetValue(message.Name, out var type))
            {
                return type;
            }
            var name = NameOf(message.FullName);
            if (written.Add(name))
            {
                Write(message, name);
            }
            return name;
        }

        string TypeOf(EnumDescriptor values)
        {
            if (values.FullName == "google.protobuf.NullValue")
            {
                return WellKnown[values.Name];
            }
            var name = NameOf(values.FullName);
            if (written.Add(name))
            {
                source.Append($"[JsonConverter(typeof(StringEnumConverter))]\npublic enum {name}\n{{\n");
                foreach (var value in values.Values)
                {
                    source.Append($"@{value.Name} = {value.Number},\n");
                }
                source.Append("}\n\n");
            }
            return name;
        }

        void Write(MessageDescriptor message, string name)
        {
            var fields = new StringBuilder();
            foreach (var field in message.Fields.InDeclarationOrder())
            {
                var json = Newtonsoft.Json.JsonConvert.ToString(field.JsonName);
                fields.Append($"[JsonProperty({json})]\npublic {Declared(field)}\n");
            }
            source.Append($"public sealed class {name}\n{{\n{fields}}}\n\n");
        }

        /// <summary>A field as a property. Its default is that of protobuf.</summary>
        string Declared(FieldDescriptor field)
        {
            // A number cannot be the name of the class or of one of its other members.
            var name = $"Field{field.FieldNumber}";
            if (field.IsMap)
            {
                var entry = field.MessageType;
                var key = entry.FindFieldByNumber(1);
                // The library would write "True", which is not the mapping's text.
                var keyType = key.FieldType == FieldType.Bool ? "string" : ElementOf(key);
                var map = $"Dictionary<{keyType}, {ElementOf(entry.FindFieldByNumber(2))}>";
                return $"{map} {name} {{ get; set; }} = new {map}();";
            }
            var element = ElementOf(field);
            if (field.IsRepeated)
            {
                return $"List<{element}> {name} {{ get; set; }} = new List<{element}>();";
            }
            if (field.FieldType == FieldType.Message)
            {
                return $"{element} {name} {{ get; set; }}";
            }
            var isText = field.FieldType == FieldType.String || field.FieldType == FieldType.Bytes;
            if (field.ContainingOneof != null)
            {
                return $"{element}{(isText || element == "JToken" ? "" : "?")} {name} {{ get; set; }}";
            }
            if (isText)
            {
                var empty = field.FieldType == FieldType.String ? "\"\"" : "new byte[0]";
                return $"{element} {name} {{ get; set; }} = {empty};";
            }
            return $"{element} {name} {{ get; set; }}";
        }

        string ElementOf(FieldDescriptor field)
        {
            switch (field.FieldType)
            {
                case FieldType.Message: return TypeOf(field.MessageType);
                case FieldType.Enum: return TypeOf(field.EnumType);
                case FieldType.String: return "string";
                case FieldType.Bytes: return "byte[]";
                case FieldType.Bool: return "bool";
                case FieldType.Double: return "double";
                case FieldType.Float: return "float";
                case FieldType.Int64:
                case FieldType.SInt64:
                case FieldType.SFixed64: return "long";
                case FieldType.UInt64:
                case FieldType.Fixed64: return "ulong";
                case FieldType.UInt32:
                case FieldType.Fixed32: return "uint";
                default: return "int";
            }
        }

        /// <summary>A name in C#, different for each full name: no part of one begins with a digit.</summary>
        static string NameOf(string fullName) => "M_" + fullName.Replace("_", "__").Replace(".", "_0");
    }
}
