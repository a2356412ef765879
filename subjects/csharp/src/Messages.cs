using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Text;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Rpcgauge
{
    /// <summary>A type of message in one library and encoding, as the library's users encode and decode it.</summary>
    abstract class Coder
    {
        public abstract byte[] Encode(object message);

        public abstract object Decode(byte[] bytes);

        /// <summary>Converts a message in the proto3 JSON mapping to that of the library.</summary>
        public abstract object FromJson(JToken message);

        public abstract JToken ToJson(object message);

        /// <summary>Like <see cref="FromJson"/>, for a sample of the settings.</summary>
        /// <exception cref="Refused">The library cannot read it.</exception>
        public object FromSample(JToken sample)
        {
            try
            {
                return FromJson(sample);
            }
            catch (Exception error) when (
                error is JsonException || error is InvalidProtocolBufferException ||
                error is InvalidJsonException || error is InvalidOperationException)
            {
                throw new Refused("the library cannot read a sample: " + Text.OneLine(error), Fault.User);
            }
        }
    }

    /// <summary>Google.Protobuf.</summary>
    sealed class ProtobufCoder : Coder
    {
        readonly MessageDescriptor type;
        readonly JsonParser parser;
        readonly JsonFormatter formatter;

        /// <param name="types">the types that google.protobuf.Any can contain</param>
        public ProtobufCoder(MessageDescriptor type, TypeRegistry types)
        {
            this.type = type;
            parser = new JsonParser(JsonParser.Settings.Default.WithTypeRegistry(types));
            formatter = new JsonFormatter(JsonFormatter.Settings.Default.WithTypeRegistry(types));
        }

        public override byte[] Encode(object message) => ((IMessage)message).ToByteArray();

        public override object Decode(byte[] bytes) => type.Parser.ParseFrom(bytes);

        public override object FromJson(JToken message) => FromText(Json.Write(message));

        public override JToken ToJson(object message) => Json.Parse(ToText(message));

        public object FromText(string json) => parser.Parse(json, type);

        public string ToText(object message) => formatter.Format((IMessage)message);
    }

    /// <summary>Google.Protobuf with the proto3 JSON mapping.</summary>
    sealed class ProtoJsonCoder : Coder
    {
        readonly ProtobufCoder messages;

        public ProtoJsonCoder(ProtobufCoder messages)
        {
            this.messages = messages;
        }

        public override byte[] Encode(object message) => Encoding.UTF8.GetBytes(messages.ToText(message));

        public override object Decode(byte[] bytes) => messages.FromText(Encoding.UTF8.GetString(bytes));

        public override object FromJson(JToken message) => messages.FromJson(message);

        public override JToken ToJson(object message) => messages.ToJson(message);
    }

    /// <summary>
    /// Newtonsoft.Json with classes of the message, by way of a string, as in most programs. Its documentation advises
    /// streams for large documents.
    /// </summary>
    sealed class NewtonsoftCoder : Coder
    {
        static readonly JsonSerializerSettings Options = new JsonSerializerSettings
        {
            DateParseHandling = DateParseHandling.None,
            NullValueHandling = NullValueHandling.Ignore,
        };

        readonly Type type;

        public NewtonsoftCoder(Type type)
        {
            this.type = type;
        }

        public override byte[] Encode(object message) => Encoding.UTF8.GetBytes(ToText(message));

        public override object Decode(byte[] bytes) => FromText(Encoding.UTF8.GetString(bytes));

        public override object FromJson(JToken message) => FromText(Json.Write(message));

        public override JToken ToJson(object message) => Json.Parse(ToText(message));

        public object FromText(string json) => JsonConvert.DeserializeObject(json, type, Options);

        public string ToText(object message) => JsonConvert.SerializeObject(message, Options);
    }

    /// <summary>Newtonsoft.Json's text in a protobuf message of one string.</summary>
    sealed class HybridCoder : Coder
    {
        readonly NewtonsoftCoder json;

        public HybridCoder(NewtonsoftCoder json)
        {
            this.json = json;
        }

        public override byte[] Encode(object message) =>
            new Hybrid { Json = json.ToText(message) }.ToByteArray();

        public override object Decode(byte[] bytes) => json.FromText(Hybrid.Parser.ParseFrom(bytes).Json);

        public override object FromJson(JToken message) => json.FromJson(message);

        public override JToken ToJson(object message) => json.ToJson(message);
    }

    /// <summary>The generated code of a set of messages.</summary>
    sealed class Messages
    {
        readonly string folder;
        readonly Assembly code;
        readonly List<MessageDescriptor> descriptors;
        readonly TypeRegistry types;

        public Messages(string folder)
        {
            this.folder = folder;
            code = Assembly.LoadFrom(Path.Combine(folder, Generate.Library));
            // A request or response can also be one of the library's own types, such as google.protobuf.Empty.
            var known = code.GetTypes().Concat(typeof(IMessage).Assembly.GetExportedTypes());
            descriptors = known
                .Where(type => typeof(IMessage).IsAssignableFrom(type) && type.IsClass)
                .Select(type => type.GetProperty("Descriptor", BindingFlags.Public | BindingFlags.Static))
                .Where(property => property != null)
                .Select(property => (MessageDescriptor)property.GetValue(null))
                .ToList();
            types = TypeRegistry.FromMessages(descriptors);
        }

        public Coder Coder(Settings settings, string sample)
        {
            var name = settings.Workload.TypeOf(sample, folder);
            switch (settings.Encoding)
            {
                case "protobuf": return Protobuf(name);
                case "protojson": return new ProtoJsonCoder(Protobuf(name));
                case "json": return Newtonsoft(name);
                default: return new HybridCoder(Newtonsoft(name));
            }
        }

        ProtobufCoder Protobuf(string name) =>
            new ProtobufCoder(descriptors.First(descriptor => descriptor.FullName == name), types);

        NewtonsoftCoder Newtonsoft(string name)
        {
            var index = code.GetType(Models.Namespace + "." + Models.Index, true);
            return new NewtonsoftCoder(((Dictionary<string, Type>)index.GetField("Types").GetValue(null))[name]);
        }
    }
}
