using System.Collections.Generic;
using System.IO;
using System.Linq;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Rpcgauge
{
    /// <summary>JSON as values: the contract's lines, and samples.</summary>
    static class Json
    {
        /// <exception cref="JsonException">The text is not one JSON document.</exception>
        public static JToken Parse(string text)
        {
            using (var reader = new JsonTextReader(new StringReader(text)))
            {
                // Text that looks like a date is still text.
                reader.DateParseHandling = DateParseHandling.None;
                var value = JToken.ReadFrom(reader);
                if (reader.Read())
                {
                    throw new JsonReaderException("there is more after the document");
                }
                return value;
            }
        }

        public static string Write(JToken value) => value.ToString(Formatting.None);
    }

    /// <summary>The keys of an object in a line. Each is taken once; a key that nobody takes is an error.</summary>
    sealed class Keys
    {
        readonly Dictionary<string, JToken> left;
        readonly string where;

        public Keys(JToken value, string where)
        {
            var keys = value as JObject;
            if (keys == null)
            {
                throw new Refused(where + " is not a JSON object", Fault.Instrument);
            }
            left = keys.Properties().ToDictionary(key => key.Name, key => key.Value);
            this.where = where;
        }

        public static Keys OfLine(string line, string where)
        {
            try
            {
                return new Keys(Json.Parse(line), where);
            }
            catch (JsonException error)
            {
                throw new Refused($"{where} is not a JSON object: {error.Message}", Fault.Instrument);
            }
        }

        /// <summary>Takes a key; null if there is none.</summary>
        public JToken Value(string key)
        {
            JToken value;
            if (left.TryGetValue(key, out value))
            {
                left.Remove(key);
            }
            return value;
        }

        public JToken Required(string key) =>
            Value(key) ?? throw new Refused($"{where} lacks \"{key}\"", Fault.Instrument);

        /// <summary>Takes a text; null if there is none.</summary>
        public string Text(string key) => (string)Checked(key, Value(key), JTokenType.String);

        public string RequiredText(string key) => (string)Checked(key, Required(key), JTokenType.String);

        /// <summary>Takes an integer in this range; null if there is none.</summary>
        public long? Count(string key, long min = 0, long max = long.MaxValue)
        {
            var value = Checked(key, Value(key), JTokenType.Integer);
            if (value == null)
            {
                return null;
            }
            // An integer beyond 64 bits is no long.
            var count = (value as JValue).Value as long?;
            return count >= min && count <= max ? count : throw Wrong(key, value);
        }

        public long RequiredCount(string key, long min = 0, long max = long.MaxValue) =>
            Count(key, min, max) ?? throw new Refused($"{where} lacks \"{key}\"", Fault.Instrument);

        public bool Flag(string key) => (bool?)Checked(key, Value(key), JTokenType.Boolean) ?? false;

        /// <exception cref="Refused">A key is left.</exception>
        public void End()
        {
            foreach (var key in left.Keys)
            {
                throw new Refused($"{where} has an unknown key \"{key}\"", Fault.Instrument);
            }
        }

        JToken Checked(string key, JToken value, JTokenType type)
        {
            return value == null || value.Type == type ? value : throw Wrong(key, value);
        }

        Refused Wrong(string key, object value) =>
            new Refused($"{where}'s \"{key}\" cannot be {value}", Fault.Instrument);
    }
}
