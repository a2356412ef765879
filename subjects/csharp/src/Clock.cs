using System.Runtime.InteropServices;

namespace Rpcgauge
{
    /// <summary>The host's clocks, in nanoseconds. Stopwatch would count in steps of 100 ns.</summary>
    static class Clock
    {
        const int Monotonic = 1;
        const int ProcessCpu = 2;

        /// <summary>The monotonic clock, which all processes of the host share.</summary>
        public static long Now() => Read(Monotonic);

        /// <summary>The CPU time of this process.</summary>
        public static long Cpu() => Read(ProcessCpu);

        static long Read(int clock)
        {
            Timespec time;
            clock_gettime(clock, out time);
            return time.Seconds * 1000000000 + time.Nanoseconds;
        }

        // As on a 64-bit Linux.
        [StructLayout(LayoutKind.Sequential)]
        struct Timespec
        {
            public long Seconds;
            public long Nanoseconds;
        }

        [DllImport("libc")]
        static extern int clock_gettime(int clock, out Timespec time);
    }
}
