using System;

namespace Rpcgauge
{
    /// <summary>The side that an error line blames, as the contract names it.</summary>
    static class Fault
    {
        public const string User = "user";
        public const string Instrument = "instrument";
        public const string Subject = "subject";
        public const string Machine = "machine";

        public static int ExitCode(string fault)
        {
            switch (fault)
            {
                case Subject: return 1;
                case Machine: return 3;
                default: return 2;
            }
        }
    }

    static class Text
    {
        public static string OneLine(Exception error)
        {
            var words = error.Message.Split((char[])null, StringSplitOptions.RemoveEmptyEntries);
            return words.Length == 0 ? error.GetType().Name : string.Join(" ", words);
        }
    }

    /// <summary>Why a request cannot be fulfilled, and the side at fault.</summary>
    sealed class Refused : Exception
    {
        public string Fault { get; }

        public Refused(string error, string fault) : base(error)
        {
            Fault = fault;
        }
    }
}
