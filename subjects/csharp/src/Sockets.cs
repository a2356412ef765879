using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.InteropServices;
using System.Text;

namespace Rpcgauge
{
    /// <summary>
    /// The open sockets of this process, to see which connections HttpClient has opened: it does not say. One that is
    /// opened and closed between two looks is not seen.
    /// </summary>
    sealed class Sockets
    {
        const int MaxLink = 64;

        HashSet<string> known = Open();

        /// <summary>The number of sockets that are open now, and were not at the last look.</summary>
        public int New()
        {
            var open = Open();
            var opened = open.Count(socket => !known.Contains(socket));
            known = open;
            return opened;
        }

        static HashSet<string> Open()
        {
            var links = Directory.GetFileSystemEntries("/proc/self/fd").Select(Target);
            return new HashSet<string>(links.Where(link => link.StartsWith("socket:")));
        }

        static string Target(string path)
        {
            var target = new byte[MaxLink];
            var length = (int)readlink(path, target, (IntPtr)target.Length);
            // A file can be closed meanwhile.
            return length < 0 ? "" : Encoding.UTF8.GetString(target, 0, length);
        }

        [DllImport("libc")]
        static extern IntPtr readlink(string path, byte[] target, IntPtr size);
    }
}
